// One bit or the end of a file, at very many places: whole documents and their memory, or a message
// that names the file.

#include <map>
#include <utility>

#include "tests/store/damage.h"
#include "tests/support/nightly.h"

namespace tessera::store {
namespace {

using ::testing::AnyOf;

class DamageSweep : public Damage {
 protected:
  DamageSweep() { remember(); }

  /// What it holds now is one of the answers that are right.
  void remember() { digests_[ids(MemoStore(store()))] = digest(store()); }

  static std::string text_stored(const std::string& id) {
    return document_text(id == "one" ? 1 : id == "two" ? 2 : 3);
  }

  /// The bare reading, then all checks. SQLite's own files are gone before, as after a restart.
  void expect_right_or_named(const std::string& what) {
    SCOPED_TRACE(what);
    std::filesystem::remove(file("ledger.sqlite-shm"));
    const auto named = AnyOf(HasSubstr("config.json"), HasSubstr("tokenizer.json"),
                             HasSubstr("ledger.sqlite"), HasSubstr("memory.safetensors"));
    try {
      const std::string read = digest(store());
      EXPECT_TRUE(std::ranges::any_of(
          digests_, [&](const auto& documents) { return documents.second == read; }));
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), named);
    }
    try {
      const MemoStore opened(store());
      const std::string verified = verify(opened).digest;
      const auto holds = digests_.find(ids(opened));
      ASSERT_NE(holds, digests_.end());
      EXPECT_EQ(verified, holds->second);
      for (const auto& id : holds->first) EXPECT_EQ(text_of(opened, id), text_stored(id));
    } catch (const DataError& error) {
      ++refused_;
      EXPECT_THAT(error.what(), named);
    }
  }

  /// Every `step`th byte of [first, last), a tenth of them by day: a bit of it changed; the file
  /// ending there. Returns how often that was refused.
  int sweep(const std::string& name, size_t step, size_t first = 0, size_t last = SIZE_MAX) {
    if (!test::nightly()) step *= 10;
    const std::string whole = read_file(file(name));
    EXPECT_GT(whole.size(), first);
    for (size_t at = first; at < std::min(last, whole.size()); at += step) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
      overwrite(file(name), damaged);
      expect_right_or_named(name + ", a bit of byte " + std::to_string(at));
      overwrite(file(name), whole.substr(0, at));
      expect_right_or_named(name + " ends at byte " + std::to_string(at));
    }
    overwrite(file(name), whole);
    EXPECT_EQ(complaint(), "");
    return std::exchange(refused_, 0);
  }

  /// As after a kill: a third document is in the ledger's log, not in the matrix.
  void leave_a_log() {
    {
      MemoWriter writer(store());
      writer.memorize("three", document_text(3), Duplicates::kRefuse);
      std::filesystem::copy(store(), store("killed"));
    }
    std::filesystem::remove_all(store());
    std::filesystem::rename(store("killed"), store());
    std::filesystem::remove(file("ledger.sqlite-shm"));
    remember();
    ASSERT_EQ(digests_.size(), 2u);
  }

  std::map<std::vector<std::string>, std::string> digests_;  // of the documents
  int refused_ = 0;
};

TEST_F(DamageSweep, OfConfigurationAndTokenizer) {
  EXPECT_GT(sweep("config.json", 1), 0);
  EXPECT_GT(sweep("tokenizer.json", 1), 0);
}

TEST_F(DamageSweep, OfTheMatrix) {
  constexpr size_t kHeader = 760;  // bytes, nearly
  EXPECT_GT(sweep("memory.safetensors", 2, 0, kHeader), 0);
  EXPECT_GT(sweep("memory.safetensors", 2001, kHeader), 0);
}

TEST_F(DamageSweep, OfTheLedger) {
  EXPECT_GT(sweep("ledger.sqlite", 61), 0);
}

TEST_F(DamageSweep, OfTheLedgersLog) {
  leave_a_log();
  // A log ends where its checksums no longer hold: what follows was never written.
  EXPECT_EQ(sweep("ledger.sqlite-wal", 97), 0);
}

/// Writing to a damaged store mends nothing and hides nothing.
TEST_F(DamageSweep, OfAStoreThatIsWrittenTo) {
  std::filesystem::copy(store(), store("whole"));
  memorize(store(), "three", document_text(3));
  remember();
  const size_t size = read_file(store("whole") / "ledger.sqlite").size();
  for (size_t at = 0; at < size; at += test::nightly() ? 211 : 2111) {
    std::filesystem::remove_all(store());
    std::filesystem::copy(store("whole"), store());
    std::string damaged = read_file(file("ledger.sqlite"));
    damaged[at] = static_cast<char>(damaged[at] ^ 1 << at % 8);
    overwrite(file("ledger.sqlite"), damaged);
    try {
      memorize(store(), "three", document_text(3));
      forget(store(), "three");
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr("ledger.sqlite"));
    }
    expect_right_or_named("ledger.sqlite, a bit of byte " + std::to_string(at));
  }
}

}  // namespace
}  // namespace tessera::store
