#include "tessera/store/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tessera/base/file.h"
#include "tessera/store/sqlite.h"
#include "tests/support/temporary_folder.h"

namespace tessera::store {
namespace {

using ::testing::ElementsAre;

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() { Ledger::create(path_, kConfig); }
  Ledger open() const { return {path_, sqlite::Access::kWrite, kConfig, 256}; }
  /// A document of so many tokens, in pieces as a ledger has them.
  static void store(Ledger& ledger, const std::string& id, size_t tokens) {
    const std::vector<int32_t> piece(std::min<size_t>(tokens, 1 << 16), 'x');
    auto transaction = ledger.transaction();
    ledger.store(id, [&, left = tokens]() mutable {
      const auto next = std::span(piece).first(std::min(left, piece.size()));
      left -= next.size();
      return next;
    });
    transaction.commit();
  }
  static void forget(Ledger& ledger, const std::string& id) {
    auto transaction = ledger.transaction();
    ledger.forget(ledger.get(id));
    transaction.commit();
  }

  static constexpr const char* kConfig = "configuration";
  const std::vector<std::string> digests_ = {"digest"};
  const test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_ / "ledger.sqlite";
};

/// As while a reader holds an erasure up: the next document has the number that was forgotten.
TEST_F(LedgerTest, ForgetsWhileAnEarlierErasureIsPending) {
  {
    Ledger ledger = open();
    for (const char* id : {"one", "two", "three"}) store(ledger, id, 10);
    for (const char* id : {"two", "one"}) forget(ledger, id);
    ledger.settle(digests_);
  }
  Ledger ledger = open();
  forget(ledger, "three");
  EXPECT_THAT(ledger.unerased(), ElementsAre("one", "two", "three"));
  ledger.settle(digests_);
  EXPECT_THAT(ledger.unerased(), ElementsAre("one", "two", "three"));
  ledger.tidy(Readers::kPass);
  EXPECT_FALSE(ledger.erasure_pending());
  EXPECT_THAT(ledger.unerased(), ElementsAre());
}

TEST_F(LedgerTest, GivesNoNumberTwiceUntilItIsSettled) {
  Ledger ledger = open();
  for (const char* id : {"one", "two", "three"}) store(ledger, id, 1);
  ledger.settle(digests_);
  ledger.tidy(Readers::kPass);
  for (const char* id : {"three", "two"}) forget(ledger, id);
  store(ledger, "four", 1);
  for (const char* id : {"one", "four"}) forget(ledger, id);
  store(ledger, "five", 1);
  std::vector<int64_t> numbers;
  for (const Change& change : ledger.changes_after(0)) numbers.push_back(change.document.number);
  EXPECT_THAT(numbers, ElementsAre(3, 2, 4, 1, 4, 5));
}

/// What SQLite allocates at once stays below twice the ledger, and does not grow with it.
TEST_F(LedgerTest, IsSettledInMemoryThatDoesNotGrowWithIt) {
  {
    Ledger ledger = open();
    store(ledger, "long", size_t{1} << 25);
  }
  Ledger ledger = open();
  const int64_t before = ::sqlite3_memory_used();
  ::sqlite3_memory_highwater(1);
  ledger.settle(digests_);
  ledger.tidy(Readers::kPass);
  const int64_t bytes = file_bytes(path_);
  EXPECT_GT(bytes, 64 << 20);
  EXPECT_LT(::sqlite3_memory_highwater(0) - before, 2 * bytes);
}

}  // namespace
}  // namespace tessera::store
