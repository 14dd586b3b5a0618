#include "tessera/data/joined_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using testing::ElementsAre;

std::vector<std::string> documents_of(std::string_view text) {
  std::vector<std::string> documents;
  for_each_document(text, [&](std::string_view document) { documents.emplace_back(document); });
  return documents;
}

TEST(JoinedDocuments, AreWhatStandsBetweenSeparators) {
  EXPECT_THAT(documents_of("One.\nTwo.\n<|endoftext|>\nThree.\n<|endoftext|>\n"),
              ElementsAre("One.\nTwo.", "Three."));
  EXPECT_THAT(documents_of("One.\r\n<|endoftext|>\r\nTwo."), ElementsAre("One.", "Two."));
  EXPECT_THAT(documents_of("<|endoftext|>\n<|endoftext|>\nOne.\n"), ElementsAre("One.\n"));
  EXPECT_THAT(documents_of("One.\n<|endoftext|>"), ElementsAre("One."));
}

TEST(JoinedDocuments, WithoutASeparatorAreOneDocument) {
  EXPECT_THAT(documents_of("One.\n"), ElementsAre("One.\n"));
  EXPECT_THAT(documents_of("About <|endoftext|> in a line\n"),
              ElementsAre("About <|endoftext|> in a line\n"));
  EXPECT_THAT(documents_of(""), ElementsAre());
}

TEST(JoinedDocuments, ComeBackAsTheyWereWritten) {
  EXPECT_THAT(documents_of(with_separator("One.") + with_separator("Two.\n")),
              ElementsAre("One.", "Two.\n"));
}

}  // namespace
}  // namespace tessera
