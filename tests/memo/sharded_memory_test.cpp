// A memory of several matrices: each pair is in the one that its window chooses.

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "tessera/memo/detail/window_hash.h"
#include "tessera/memo/text_memory.h"
#include "tessera/memo/text_reader.h"
#include "tests/memo/texts.h"

namespace tessera::memo {
namespace {

using Tokens = std::vector<int32_t>;

using test::random_tokens;

TextMemoryConfig in_shards(int32_t shards, int64_t dimension = 128, int64_t vocabulary = 64) {
  return {.dimension = dimension,
          .heads = 2,
          .layers = 2,
          .shards = shards,
          .vocabulary = vocabulary,
          .seed = 3};
}

std::vector<int64_t> entries_of(const TextMemory& memory, size_t shard) {
  const ExactCorrelationMemory& matrix = memory.shards()[shard].matrix();
  std::vector<int64_t> entries;
  for (int64_t row = 0; row < matrix.rows(); ++row)
    for (int64_t column = 0; column < matrix.columns(); ++column)
      entries.push_back(matrix.entry(row, column));
  return entries;
}

TEST(ShardOf, IsTheUpperHalfOfTheHashInEqualParts) {
  EXPECT_EQ(shard_of(0xffffffff'00000000, 1), 0u);
  EXPECT_EQ(shard_of(0, 3), 0u);
  EXPECT_EQ(shard_of(0x55555555'ffffffff, 3), 0u);
  EXPECT_EQ(shard_of(0x55555556'00000000, 3), 1u);
  EXPECT_EQ(shard_of(0xaaaaaaab'00000000, 3), 2u);
  EXPECT_EQ(shard_of(0xffffffff'ffffffff, 3), 2u);
  EXPECT_EQ(shard_of(0xffffffff'ffffffff, 4096), 4095u);
}

/// Of the windows 1 2, 2 3 and 3 4 the second chooses the second of two shards, the others the
/// first.
TEST(ShardedMemory, OfTwoShardsWorkedByHand) {
  const Tokens text = {1, 2, 3, 4, 5};
  const size_t choices[] = {0, 1, 0};
  for (size_t start = 0; start < 3; ++start)
    ASSERT_EQ(shard_of(hash_tokens(std::span(text).subspan(start, 2)), 2), choices[start]);
  TextMemoryConfig config = in_shards(2);
  config.layers = 1;
  TextMemory memory(config);
  EXPECT_EQ(memory.memorize(one_piece(text)), 3);
  EXPECT_EQ(memory.shards()[0].pairs(), 2);
  EXPECT_EQ(memory.shards()[1].pairs(), 1);
  EXPECT_EQ(memory.pairs(), 3);
  // One pair is the product of two rows of signs: every entry is 1 or -1.
  for (const int64_t entry : entries_of(memory, 1)) EXPECT_EQ(std::abs(entry), 1);
  EXPECT_EQ(memory.noise(1), 1.0 / 128);
  // It is read without noise, which all three would make in one matrix.
  TextReader reader(memory);
  for (const int32_t token : {2, 3}) reader.append(token);
  EXPECT_EQ(reader.scores().window(0)[4], 1.0f);
  EXPECT_EQ(reader.scores().window(0)[3], 0.0f);  // codes of up to 128 tokens are orthogonal
  config.shards = 1;
  TextMemory single(config);
  single.memorize(one_piece(text));
  TextReader of_single(single);
  for (const int32_t token : {2, 3}) of_single.append(token);
  EXPECT_NE(of_single.scores().window(0)[4], 1.0f);
}

TEST(ShardedMemory, IsASingleMatrixDividedIntoSummands) {
  const Tokens text = random_tokens(1, 3000, 64);
  TextMemory whole(in_shards(1));
  whole.memorize(one_piece(text));
  for (const int32_t shards : {2, 7}) {
    TextMemory memory(in_shards(shards));
    EXPECT_EQ(memory.memorize(one_piece(text)), whole.pairs());
    std::vector<int64_t> sum(128 * 128);
    for (size_t s = 0; s < static_cast<size_t>(shards); ++s) {
      EXPECT_GT(memory.shards()[s].pairs(), 0);
      const auto entries = entries_of(memory, s);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += entries[i];
    }
    EXPECT_EQ(sum, entries_of(whole, 0));
  }
}

TEST(ShardedMemory, IsEditedInTheChosenShardsAlone) {
  const Tokens text = random_tokens(2, 500, 64);
  TextMemory whole(in_shards(3)), part(in_shards(3));
  whole.memorize(one_piece(text));
  const auto is_middle = [](size_t shard) { return shard == 1; };
  EXPECT_EQ(part.edit(Edit::kStore, one_piece(text), is_middle), whole.shards()[1].pairs());
  EXPECT_EQ(part.pairs(), part.shards()[1].pairs());
  EXPECT_EQ(entries_of(part, 1), entries_of(whole, 1));
  part.edit(Edit::kStore, one_piece(text), [&](size_t shard) { return !is_middle(shard); });
  for (size_t s = 0; s < 3; ++s) EXPECT_EQ(entries_of(part, s), entries_of(whole, s)) << s;
}

/// Four matrices of d = 256 are as noisy as one of d = 512, and a context that nobody stored is
/// read with this noise.
TEST(ShardedMemory, HasTheNoiseOfASingleMatrixOfItsSize) {
  const Tokens text = random_tokens(3, 6000, 200);
  TextMemory sharded(in_shards(4, 256, 200)), single(in_shards(1, 512, 200));
  sharded.memorize(one_piece(text));
  single.memorize(one_piece(text));
  EXPECT_NEAR(sharded.noise(), single.noise(), 0.02 * single.noise());
  std::vector<Tokens> contexts;
  for (uint64_t seed = 10; seed < 90; ++seed) contexts.push_back(random_tokens(seed, 4, 200));
  const std::vector<std::span<const int32_t>> views(contexts.begin(), contexts.end());
  double squares = 0, count = 0;
  read_contexts(sharded, views, [&](size_t, const WindowScores& scores) {
    const auto longest = scores.window(1);
    EXPECT_GE(scores.noise(1), 0.9 * sharded.noise());
    for (const float score : longest) squares += score * score;
    count += static_cast<double>(longest.size());
  });
  EXPECT_NEAR(std::sqrt(squares / count), sharded.noise(), 0.03 * sharded.noise());
}

TEST(MemoryShard, LoadsItsMatrixWhenItIsNeeded) {
  int loads = 0;
  const auto loaded = [&](std::optional<double> energy) {
    return MemoryShard(5, energy, [&] {
      ++loads;
      ExactCorrelationMemory matrix(64, 64);
      matrix.store(std::vector<int8_t>(64, 2), std::vector<int8_t>(64, 1));
      return matrix;
    });
  };
  MemoryShard shard = loaded(4.0);
  EXPECT_EQ(shard.pairs(), 5);
  EXPECT_EQ(shard.energy(), 4.0);
  EXPECT_EQ(loads, 0);
  EXPECT_EQ(shard.matrix().entry(0, 0), 2);
  EXPECT_EQ(shard.matrix().entry(1, 0), 2);
  EXPECT_EQ(loads, 1);
  MemoryShard copy = shard;
  copy.merge(shard);
  EXPECT_EQ(copy.matrix().entry(0, 0), 4);
  EXPECT_EQ(copy.energy(), 16.0);
  EXPECT_EQ(copy.pairs(), 10);
  EXPECT_EQ(shard.matrix().entry(0, 0), 2);
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(loaded({}).energy(), 4.0);
  EXPECT_EQ(loads, 2);
  const MemoryShard damaged(5, {},
                            []() -> ExactCorrelationMemory { throw std::runtime_error(""); });
  for (int attempt = 0; attempt < 2; ++attempt)
    EXPECT_THROW(damaged.matrix(), std::runtime_error) << attempt;
}

TEST(ShardedMemory, AShardThatCannotBeLoadedLeavesTheOthersAsTheyWere) {
  const TextMemoryConfig config = in_shards(4);
  const Tokens text = random_tokens(21, 400, 64);
  TextMemory whole(config);
  whole.memorize(one_piece(text));
  std::vector<MemoryShard> shards(whole.shards().begin(), whole.shards().end());
  shards[2] = MemoryShard(whole.shards()[2].pairs(), {},
                          []() -> ExactCorrelationMemory { throw std::runtime_error("damaged"); });
  TextMemory damaged(config, std::move(shards)), empty(config);
  EXPECT_THROW(damaged.memorize(one_piece(text)), std::runtime_error);
  EXPECT_THROW(damaged.merge(whole), std::runtime_error);
  EXPECT_THROW(empty.merge(damaged), std::runtime_error);
  for (const size_t shard : {0, 1, 3}) {
    EXPECT_EQ(entries_of(damaged, shard), entries_of(whole, shard)) << shard;
    EXPECT_EQ(entries_of(empty, shard), entries_of(TextMemory(config), shard)) << shard;
  }
  EXPECT_EQ(damaged.pairs(), whole.pairs());
  EXPECT_EQ(empty.pairs(), 0);
}

}  // namespace
}  // namespace tessera::memo
