// A store written by an earlier version (tests/store/format_1) is read by this one. It was made by
//   tessera memo create format_1 --dimension 64 --seed 7
//   tessera memo memorize format_1 TEXTS
//   tessera memo forget format_1 rose.txt
// from the files lamb.txt, rose.txt and tyger.txt; a line of Blake each.

#include "tessera/store/recall.h"
#include "tessera/store/sqlite.h"
#include "tessera/store/verify.h"
#include "tests/store/small_stores.h"
#include "tests/support/folders.h"

namespace tessera::store {
namespace {

constexpr const char* kDigest = "f5350b7271241b7cc8b50a0433b4332468f4ed23ad3abc45f2202d783f7d27cb";
constexpr const char* kLamb = "Little Lamb who made thee\n";
constexpr const char* kTyger = "Tyger Tyger, burning bright\n";

class StoreFormatTest : public ::testing::Test {
 protected:
  StoreFormatTest() {
    std::filesystem::copy(test::source_folder() / "tests/store/format_1", store());
  }
  std::filesystem::path store() const { return folder_ / "format_1"; }

  TemporaryFolder folder_{test::folder_in_memory()};
};

TEST_F(StoreFormatTest, IsReadAndVerified) {
  const MemoStore opened(store());
  EXPECT_EQ(ids(opened), (std::vector<std::string>{"lamb.txt", "tyger.txt"}));
  EXPECT_EQ(text_of(opened, "lamb.txt"), kLamb);
  EXPECT_EQ(text_of(opened, "tyger.txt"), kTyger);
  EXPECT_EQ(opened.digest(), kDigest);
  const Verification verified = verify(opened);
  EXPECT_EQ(verified.digest, kDigest);
  EXPECT_EQ(verified.totals.tokens, 56);
  EXPECT_EQ(verified.totals.pairs, 111);
}

TEST_F(StoreFormatTest, IsRecited) {
  const MemoStore opened(store());
  const Recall recital = recall(opened, opened.tokenizer().encode("Tyger Ty"), {});
  EXPECT_EQ("Tyger Ty" + text_of(recital), kTyger);
  EXPECT_EQ(recital.finish, Finish::kEndOfText);
  ASSERT_FALSE(recital.sources.front().best.empty());
  EXPECT_EQ(recital.sources.front().best.front().document, "tyger.txt");
  EXPECT_EQ(recital.sources.front().best.front().position, 8);
}

TEST_F(StoreFormatTest, ForgettingWhatWasAddedRestoresItsDigest) {
  memorize(store(), "rose.txt", "O Rose thou art sick\n");
  EXPECT_NE(digest(store()), kDigest);
  forget(store(), "rose.txt");
  EXPECT_EQ(digest(store()), kDigest);
}

/// The first writer adds the tables that its ledger lacks.
TEST_F(StoreFormatTest, AnEarlierLedgerTellsWhatIsNotErased) {
  EXPECT_FALSE(MemoStore(store()).ledger().erasure_pending());
  { MemoWriter(store()).forget("lamb.txt"); }
  EXPECT_THAT(MemoStore(store()).ledger().unerased(), ::testing::ElementsAre("lamb.txt"));
  MemoWriter(store()).checkpoint();
  EXPECT_FALSE(MemoStore(store()).ledger().erasure_pending());
  memorize(store(), "lamb.txt", kLamb);
  EXPECT_EQ(digest(store()), kDigest);
}

/// It lacks details and the full-text index, which the first writer makes.
TEST_F(StoreFormatTest, AnEarlierLedgerIsIndexedByTheFirstWriter) {
  {
    const MemoStore opened(store());
    EXPECT_FALSE(opened.ledger().searchable());
    EXPECT_TRUE(opened.ledger().search("tyger", 0).empty());
    EXPECT_EQ(opened.ledger().details(opened.ledger().get("lamb.txt")), DocumentDetails());
  }
  MemoWriter writer(store());
  EXPECT_TRUE(writer.ledger().searchable());
  ASSERT_EQ(writer.ledger().search("burn", 0).size(), 1u);
  EXPECT_EQ(writer.ledger().search("burn", 0).front().document, "tyger.txt");
  EXPECT_EQ(writer.memorize("lamb.txt", kLamb, Duplicates::kReplace, {}, {{"by", "Blake"}}),
            Memorized::kDescribed);
  const DocumentDetails lamb = writer.ledger().details(writer.ledger().get("lamb.txt"));
  EXPECT_EQ(lamb.bytes, 26);
  EXPECT_EQ(lamb.memorized, 0) << "nobody knows when";
  EXPECT_EQ(lamb.metadata, (Metadata{{"by", "Blake"}}));
  EXPECT_EQ(writer.memorize("lamb.txt", kLamb, Duplicates::kReplace), Memorized::kUnchanged);
  EXPECT_EQ(writer.memorize("lamb.txt", kTyger, Duplicates::kReplace), Memorized::kReplaced);
  EXPECT_EQ(writer.ledger().details(writer.ledger().get("lamb.txt")).metadata, lamb.metadata);
}

/// A reader may open the ledger before that and read it afterwards.
TEST_F(StoreFormatTest, AReaderSeesTheTablesOfItsSnapshot) {
  Ledger ledger = StoreFolder::open(store()).open_ledger(sqlite::Access::kRead);
  EXPECT_TRUE(ledger.settled_digests().empty());
  memorize(store(), "rose.txt", "O Rose thou art sick\n");
  ledger.take_snapshot();
  EXPECT_EQ(ledger.settled_digests().size(), 1u);
  EXPECT_TRUE(ledger.searchable());
}

TEST_F(StoreFormatTest, ANewStoreOfTheSameTextsHasTheSameDigest) {
  const auto made = folder_ / "new";
  MemoStore::create(made, {.dimension = 64, .seed = 7}, byte_tokenizer());
  memorize(made, "tyger.txt", kTyger);
  memorize(made, "lamb.txt", kLamb);
  EXPECT_EQ(digest(made), kDigest);
  EXPECT_EQ(read_file(made / "config.json"), read_file(store() / "config.json"));
  EXPECT_EQ(read_file(made / "tokenizer.json"), read_file(store() / "tokenizer.json"));
}

}  // namespace
}  // namespace tessera::store
