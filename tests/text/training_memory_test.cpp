#include "tessera/text/training_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::message_of;
using testing::HasSubstr;

TEST(TrainingMemory, TheVocabularyIsWhatTheConfigurationTellsOfIt) {
  EXPECT_EQ(expected_vocabulary({.tokenizer = "bpe", .vocabulary = 5000}), 5000);
  EXPECT_EQ(expected_vocabulary({.tokenizer = "byte"}), 257);
  EXPECT_EQ(expected_vocabulary({.tokenizer = "character"}), 1);
}

TEST(TrainingMemory, RefusesWhatDoesNotFitWithNumbersAndKeys) {
  EXPECT_NO_THROW(
      check_training_memory({{"kind", "gpt"}, {"layers", 1}, {"channels", 12}}, 100, 8));
  // 12 blocks, in each 12 C^2 + 2 C numbers; the embeddings of 1000 tokens and 512 positions; a
  // norm: 1.44e18 numbers, 16 bytes for each.
  EXPECT_THAT(
      message_of<UsageError>([] {
        check_training_memory(
            {{"kind", "gpt"}, {"layers", 12}, {"heads", 4}, {"channels", 100000000}}, 1000, 8);
      }),
      testing::AllOf(HasSubstr("1.44e+18 parameters"), HasSubstr("2.3e+10 GB"),
                     HasSubstr("model.layers = 12, model.heads = 4, model.channels = 100000000, "
                               "data.vocabulary = 1000")));
  // 2 blocks read 10^8 windows of 512 vectors of 60 floats.
  EXPECT_THAT(
      message_of<UsageError>([] {
        check_training_memory({{"kind", "gpt"}, {"layers", 2}, {"channels", 60}}, 1000, 100000000);
      }),
      HasSubstr("2.46e+04 GB for the inputs of its blocks, with train.batch = 100000000"));
}

}  // namespace
}  // namespace tessera
