#include "tessera/store/certificate.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

using ::testing::ElementsAre;

TEST(PieceSet, FindsItsPiecesAnywhere) {
  PieceSet set(4);
  set.add("abcdefghij");  // "abcd" and "efgh"; the rest is shorter than a piece
  const auto found = [&](std::string_view bytes) {
    std::vector<std::string> pieces;
    set.find(bytes, [&](std::string_view piece) { pieces.emplace_back(piece); });
    return pieces;
  };
  EXPECT_THAT(found("xxefghabcdabcx"), ElementsAre("efgh", "abcd"));
  EXPECT_THAT(found("bcde fghi"), ElementsAre());
  EXPECT_THAT(found("abc"), ElementsAre());
  set.remove("abcd");
  EXPECT_THAT(found("abcdefgh"), ElementsAre("efgh"));
}

/// Also of a number that somebody wrote into a ledger.
TEST(UtcTime, HasEveryYear) {
  EXPECT_EQ(utc_time(1772386200), "2026-03-01T17:30:00Z");
  EXPECT_EQ(utc_time(67768036191676799), "2147485547-12-31T23:59:59Z");
}

class RemainsTest : public StoreTest {
 protected:
  static constexpr const char* kSecret = "The treasure lies below the third oak behind the mill.\n";
  static constexpr const char* kKept =
      "Behind the mill stands a house, below the third oak a bank.\n";

  RemainsTest() {
    memorize(store(), "kept", kKept);
    memorize(store(), "secret", kSecret);
    add_to(remains_, store(), "secret");
  }
  static void add_to(Remains& remains, const std::filesystem::path& path, const std::string& id) {
    const MemoStore opened(path);
    remains.add(opened, opened.ledger().get(id));
  }
  /// Files of store() with remains.
  std::vector<std::string> found(const Remains& remains) const {
    std::vector<std::string> names;
    for (const ScannedFile& file : remains.scan(store()))
      if (file.found > 0) names.push_back(file.name);
    return names;
  }
  std::vector<std::string> found() const { return found(remains_); }

  Remains remains_;
};

/// Its files would come and go, and be cut while they are read.
TEST_F(RemainsTest, AreLookedForWhileNobodyWrites) {
  std::optional<FileLock> other(std::in_place, store() / "lock", "held by this test");
  std::atomic<bool> has_ended = false;
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    has_ended = true;
    other.reset();
  });
  EXPECT_THAT(found(), ElementsAre("ledger.sqlite"));
  EXPECT_TRUE(has_ended);
  writer.join();
}

TEST_F(RemainsTest, AreInTheLedgerUntilTheDocumentIsForgotten) {
  EXPECT_THAT(found(), ElementsAre("ledger.sqlite"));
  forget(store(), "secret");
  remains_.leave_out(MemoStore(store()));
  EXPECT_THAT(found(), ElementsAre());
}

TEST_F(RemainsTest, AreFoundInEachCodingInAnyFile) {
  forget(store(), "secret");
  remains_.leave_out(MemoStore(store()));
  const std::string rest = std::string(kSecret).substr(3, 31);  // has a whole run of 16 bytes
  std::string narrow, wide;
  for (const char letter : std::string(kSecret).substr(5, 15)) {
    narrow.append({letter, '\0'});
    wide.append({letter, '\0', '\0', '\0'});
  }
  for (const std::string& bytes : {rest, narrow, wide}) {
    overwrite(store() / "left", "xyz" + bytes + "xyz");
    EXPECT_THAT(found(), ElementsAre("left")) << bytes;
  }
  overwrite(store() / "left", kKept);
  EXPECT_THAT(found(), ElementsAre()) << "another document's own words";
}

TEST_F(RemainsTest, AreNotWhatAnEmptyStoreHas) {
  const std::string text = "Name" + std::string(60, ' ') +
                           "INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE" + std::string(40, ' ');
  memorize(store(), "table", text);
  Remains remains;
  add_to(remains, store(), "table");
  forget(store(), "table");
  remains.leave_out(MemoStore(store()));
  EXPECT_THAT(found(remains), ElementsAre());
}

/// Its tokens begin with a space that the text, which the full-text index holds, does not have.
TEST_F(RemainsTest, AreThoseOfTheTextAsItWasMemorized) {
  const std::string text = "sixteen letters.";  // one run
  create(store("spacing"), spacing_tokenizer(text));
  memorize(store("spacing"), "secret", text);
  Remains remains;
  add_to(remains, store("spacing"), "secret");
  overwrite(store() / "left", text);
  EXPECT_THAT(found(remains), ElementsAre("left"));
}

TEST_F(RemainsTest, AreFoundInAFileWhoseNameIsNotUtf8) {
  overwrite(store() / "\xFFleft", kSecret);
  EXPECT_THAT(found(), ElementsAre("ledger.sqlite", "\\xffleft"));
}

TEST_F(RemainsTest, CannotBeLookedForInAFolder) {
  std::filesystem::create_directory(store() / "copies");
  EXPECT_THAT(message_of<DataError>([&] { found(); }),
              testing::AllOf(HasSubstr((store() / "copies").native()), HasSubstr("is not a file"),
                             HasSubstr("put it elsewhere")));
}

}  // namespace
}  // namespace tessera::store
