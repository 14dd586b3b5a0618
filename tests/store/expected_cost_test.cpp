#include "tessera/store/expected_cost.h"

#include <gtest/gtest.h>

namespace tessera::store {
namespace {

TEST(ExpectedCost, GrowsWithTheMatrixAndTheTexts) {
  const memo::TextMemoryConfig small{.dimension = 256, .vocabulary = 300};
  memo::TextMemoryConfig large = small;
  large.dimension = 1024;
  std::vector<int32_t> text;
  for (int i = 0; i < 2000; ++i) text.push_back(i * i % 299);
  const ExpectedCost one = expected_cost(small, {text}, 6000, 8000);
  EXPECT_GT(one.seconds, 0);
  // 6000 random signs: at most about sqrt(6000 * 2 ln 65536) = 365, in steps of 2, in 9 bits.
  EXPECT_EQ(one.disk_bytes, 9 * 256 * 256 / 8 + 2 * 2000 + 1.65 * 8000);
  EXPECT_EQ(one.index_bytes, 1.65 * 8000);
  EXPECT_EQ(one.memory_bytes, 4 * 256 * 256 + 32 * 3 * 2000 + 1e8);
  const ExpectedCost two = expected_cost(large, {text, text}, 12000, 16000);
  EXPECT_GT(two.seconds, 0);
  EXPECT_EQ(two.disk_bytes, 10 * 1024 * 1024 / 8 + 4 * 2000 + 1.65 * 16000) << "at most 577";
  EXPECT_EQ(expected_cost(small, {}, 0, 0).disk_bytes, 0);
  EXPECT_EQ(expected_cost(small, {{1, 2}}, 0, 8).seconds, 0) << "no pairs";
  large.vocabulary = 100000;
  EXPECT_EQ(expected_cost(large, {text}, 0, 0).disk_bytes, 4 * 2000);
}

TEST(ExpectedCost, IsMeasuredOnWhatAMatrixGetsOfADocument) {
  memo::TextMemoryConfig config{.heads = 4, .vocabulary = 300};
  const auto documents = [](int count, size_t tokens) {
    return std::vector(count, std::vector<int32_t>(tokens, 1));
  };
  EXPECT_EQ(probed_tokens(config, documents(1, 2000)), 512u);
  EXPECT_EQ(probed_tokens(config, documents(20, 100)), 100u);
  config.shards = 16;
  EXPECT_EQ(probed_tokens(config, documents(1, 2000)), 125u);
  EXPECT_EQ(probed_tokens(config, documents(20, 100)), 6u);
  EXPECT_EQ(probed_tokens(config, documents(20, 10)), 5u) << "a window and the token after it";
}

}  // namespace
}  // namespace tessera::store
