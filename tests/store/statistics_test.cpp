#include "tessera/store/memo_store.h"

#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

TEST_F(StoreTest, StatisticsAreThoseOfItsParts) {
  const auto path = store_of("three", {1, 2, 3});
  const MemoStore opened(path);
  const StoreStatistics statistics = statistics_of(opened);
  EXPECT_EQ(statistics.digest, opened.digest());
  EXPECT_EQ(statistics.totals.documents, 3);
  EXPECT_EQ(statistics.totals.pairs, opened.memory().pairs());
  EXPECT_EQ(statistics.memory, opened.config().memory);
  EXPECT_EQ(statistics.tokenizer, "bytes, 257 tokens");
  EXPECT_EQ(statistics.matrix_bytes,
            static_cast<int64_t>(std::filesystem::file_size(path / "memory.safetensors")));
  EXPECT_EQ(statistics.ledger_bytes,
            static_cast<int64_t>(std::filesystem::file_size(path / "ledger.sqlite")));
}

TEST_F(StoreTest, FullnessGrowsWithThePairs) {
  const Fullness empty = statistics_of(MemoStore(store())).fullness;
  EXPECT_EQ(empty.filled, 0);
  EXPECT_EQ(empty.expected_recall_after, (std::vector<double>{1, 1, 1}));
  const MemoStore opened(store_of("three", {1, 2, 3}));
  const Fullness fullness = fullness_of(opened.memory());
  EXPECT_DOUBLE_EQ(fullness.capacity, pair_capacity(opened.config().memory));
  EXPECT_DOUBLE_EQ(fullness.filled,
                   static_cast<double>(opened.memory().pairs()) / fullness.capacity);
  // A longer context is recalled better.
  ASSERT_EQ(fullness.expected_recall_after.size(), 3u);
  EXPECT_LT(fullness.expected_recall_after[0], fullness.expected_recall_after[1]);
  EXPECT_LE(fullness.expected_recall_after[1], fullness.expected_recall_after[2]);
}

}  // namespace
}  // namespace tessera::store
