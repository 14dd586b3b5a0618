#include "tessera/text/text_learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

/// A sample of an untrained network, after a prompt that its tokenizer of characters lacks. The
/// last `share` of 40 documents "ab ba", each of six tokens with its end, is the validation text.
std::string sample_of_characters(double share) {
  const test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "ab ba\n" + std::string(kEndOfTextName) + "\n";
  write_file(folder / "text", text);
  LanguageModelTrainingConfig config;
  config.model = {{"kind", "gpt"}, {"window", 8}, {"layers", 1}, {"heads", 2}, {"channels", 8}};
  config.data.text = (folder / "text").native();
  config.data.tokenizer = "character";
  config.data.validation_share = share;
  config.sample.tokens = 2;
  const Corpus corpus = prepare_corpus(config.data, folder / "corpus", Start::kNew, nullptr);
  EXPECT_EQ(corpus.training.size() + corpus.validation.size(), 40 * 6);
  return TextLearner(config, corpus).sample(1);
}

TEST(TextLearner, SamplesGoOnWithTheFirstDocumentWhereTheTokenizerLacksThePrompt) {
  EXPECT_THAT(sample_of_characters(0.5), testing::StartsWith("ab ba"));
  // The validation text begins with an end: the sample is a new text.
  EXPECT_LE(sample_of_characters(0.479).size(), 2u);
}

}  // namespace
}  // namespace tessera
