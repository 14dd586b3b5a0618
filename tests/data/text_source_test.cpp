#include "tessera/data/text_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class TextSourceFolder : public testing::Test {
 protected:
  const test::TemporaryFolder above_;
  const std::filesystem::path folder_ = above_ / "texts";
};

std::vector<std::pair<std::string, std::string>> documents(const TextSource& source) {
  std::vector<std::pair<std::string, std::string>> found;
  source.for_each([&](const std::string& name, std::string_view text) {
    found.emplace_back(std::filesystem::path(name).filename(), text);
  });
  return found;
}

std::string refusal(const TextSource& source) {
  return message_of<DataError>([&] { documents(source); });
}

TEST_F(TextSourceFolder, TakesTheFilesOfAFolderInOrder) {
  write_file(folder_ / "b.txt", "second");
  write_file(folder_ / "a" / "x.txt", "first");
  write_file(folder_ / "c.md", "other");
  write_file(folder_ / "empty.txt", "");
  write_file(folder_ / ".hidden.txt", "no");
  write_file(folder_ / ".git" / "x.txt", "no");
  std::filesystem::create_symlink("b.txt", folder_ / "link.txt");
  EXPECT_THAT(documents(TextSource::from_path(folder_, ".txt")),
              ElementsAre(Pair("x.txt", "first"), Pair("b.txt", "second")));
  const auto everything = TextSource::from_path(folder_);
  EXPECT_EQ(everything.id(0), "a/x.txt");
  EXPECT_EQ(TextSource::from_path(folder_ / "a" / "x.txt").id(0), "x.txt");
  EXPECT_THAT(TextSource::from_path(folder_, ".md").description(), HasSubstr(", 1 document"));
  EXPECT_THAT(TextSource::from_path(folder_, ".md").description(), Not(HasSubstr("documents")));
  EXPECT_EQ(everything.documents(), 3u);
  EXPECT_THAT(everything.description(), HasSubstr("3 documents"));
  EXPECT_THROW(TextSource::from_path(folder_, ".rst"), DataError);
}

TEST_F(TextSourceFolder, RefusesWhatIsNotText) {
  write_file(folder_ / "binary", std::string("ab\0c", 4));
  EXPECT_THAT(refusal(TextSource::from_path(folder_ / "binary")), HasSubstr("byte 2 is zero"));
  write_file(folder_ / "utf-16", std::string("\xFF\xFEh\0", 4));
  EXPECT_THAT(refusal(TextSource::from_path(folder_ / "utf-16")),
              HasSubstr("utf-16: is UTF-16, expected UTF-8; convert it: iconv -f UTF-16 -t UTF-8"));
  write_file(folder_ / "latin", "caf\xE9 ");
  EXPECT_THAT(refusal(TextSource::from_path(folder_ / "latin")),
              HasSubstr("byte 3 is not valid UTF-8"));
  write_file(folder_ / "empty", "");
  EXPECT_THROW(TextSource::from_path(folder_ / "empty"), DataError);
  EXPECT_THROW(TextSource::from_path(folder_ / "missing"), SystemError);
}

TEST_F(TextSourceFolder, KnowsTheLinesThatItListed) {
  const auto path = folder_ / "lines.jsonl";
  write_file(path, "{\"text\":\"first\"}\n{\"text\":\"other\"}\n");
  const TextSource source = TextSource::from_path(path);
  EXPECT_EQ(documents(source).at(1).second, "other");
  write_file(path, "{\"text\":\"other\"}\n{\"text\":\"first\"}\n");
  EXPECT_THAT(refusal(source), HasSubstr("lines.jsonl:1: has changed since the file was listed"));
  std::filesystem::remove(path);
  EXPECT_THAT(refusal(source), HasSubstr("has changed"));
}

TEST_F(TextSourceFolder, HandsOverWhatAFileHeldWhenItWasOpened) {
  const auto path = folder_ / "text.txt";
  const std::string text(100000, 'a');
  write_file(path, text);
  TextSource::from_path(path).visit(0, [&](const std::string&, std::string_view handed_over) {
    std::ofstream(path, std::ios::in).write("other", 5);  // in place
    EXPECT_TRUE(handed_over == text);
    std::filesystem::resize_file(path, 0);
    EXPECT_TRUE(handed_over == text);
  });
}

TEST(TextSource, BibleBecomesBooksWithoutReferences) {
  const auto source =
      TextSource::from_bible("Ge1:1 In the\nGe1:2 And the\nGe2:1 Thus\n1Sm1:1 Now: there\n", "kjv");
  EXPECT_THAT(documents(source),
              ElementsAre(Pair("Ge", "In the\nAnd the\n\nThus\n"), Pair("1Sm", "Now: there\n")));
  EXPECT_EQ(source.description(), "King James Bible (bible-kjv), 2 documents");
}

TEST(TextSource, BibleRefusesOtherText) {
  for (const char* text : {"", "no verse here", "Ge1 x", "1:1 x", "Ge:1 x", "Ge1:1"})
    EXPECT_THROW(TextSource::from_bible(text, "kjv"), DataError) << text;
}

TEST_F(TextSourceFolder, AutomaticPrefersTheKeptBible) {
  write_file(folder_ / "bible-kjv.txt", "Ge1:1 In the\n");
  const auto source = TextSource::automatic(folder_);
  EXPECT_THAT(documents(source), ElementsAre(Pair("Ge", "In the\n")));
}

TEST_F(TextSourceFolder, ADocumentOfSeveralIsNamedByItsPlace) {
  write_file(folder_ / "a.txt", "One.\n<|endoftext|>\nTwo.\n");
  const auto refuse_two = [](std::string_view document) {
    if (document == "Two.\n") throw DataError("byte 1: bad");
  };
  EXPECT_THAT(message_of<DataError>(
                  [&] { for_each_document(TextSource::from_path(folder_ / "a.txt"), refuse_two); }),
              HasSubstr("a.txt: document from byte 19 on: byte 1: bad"));
}

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
