#include "tessera/store/merge.h"

#include "tessera/store/detail/matrix_file.h"
#include "tessera/store/sqlite.h"
#include "tessera/store/verify.h"
#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

class RebuildTest : public StoreTest {
 protected:
  std::vector<std::string> folders() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename());
    return names;
  }
  /// With a tokenizer learned from its documents.
  void rebuild(int64_t vocabulary) {
    rebuild_store(store(), [&] { return tokenizer_of_documents(store(), vocabulary); });
  }
};

TEST_F(RebuildTest, IsTheStoreThatTheTokenizerWouldHaveMade) {
  for (const int number : {1, 2, 3})
    memorize(store(), std::to_string(number), document_text(number));
  {
    MemoWriter writer(store());
    writer.describe("2", {7, 1234, "", {{"kind", "page"}}});
  }
  forget(store(), "3");
  const Tokenizer learned = tokenizer_of_documents(store(), 300);
  int64_t done = 0;
  const LedgerTotals totals = rebuild_store(
      store(), [&] { return learned; },
      [&](int64_t documents, int64_t of) {
        done = documents;
        EXPECT_EQ(of, 2);
      });
  EXPECT_EQ(totals.documents, 2);
  EXPECT_EQ(done, 2);
  const MemoStore rebuilt(store());
  EXPECT_EQ(ids(rebuilt), (std::vector<std::string>{"1", "2"}));
  for (const int number : {1, 2})
    EXPECT_EQ(text_of(rebuilt, std::to_string(number)), document_text(number));
  EXPECT_EQ(rebuilt.tokenizer().vocabulary_size(), learned.vocabulary_size());
  EXPECT_EQ(verify(rebuilt).digest, rebuilt.digest());
  const DocumentDetails details = rebuilt.ledger().details(rebuilt.ledger().get("2"));
  EXPECT_EQ(details.memorized, 1234);
  EXPECT_EQ(details.metadata, (Metadata{{"kind", "page"}}));
  EXPECT_EQ(details.bytes, std::ssize(document_text(2)));
  EXPECT_TRUE(rebuilt.ledger().searchable());

  MemoStore::create(store("new"), small_memory(), learned);
  memorize(store("new"), "2", document_text(2));
  memorize(store("new"), "1", document_text(1));
  EXPECT_EQ(rebuilt.digest(), digest(store("new")));
  EXPECT_THAT(folders(), ::testing::UnorderedElementsAre("store", "new"));
}

/// A word of a forgotten document may have become a token; of the others it cannot.
TEST_F(RebuildTest, TheTokenizerKnowsTheRemainingDocumentsAlone) {
  std::string secret;
  for (int i = 0; i < 50; ++i) secret += "Steelkilt ";
  memorize(store(), "secret", secret);
  memorize(store(), "open", document_text(1) + document_text(1));
  rebuild(400);
  EXPECT_THAT(read_file(store() / "tokenizer.json"), HasSubstr("Steelkilt"));
  forget(store(), "secret");
  EXPECT_THAT(read_file(store() / "tokenizer.json"), HasSubstr("Steelkilt"));
  rebuild(400);
  EXPECT_THAT(read_file(store() / "tokenizer.json"), ::testing::Not(HasSubstr("eelk")));
}

/// Else the new store's tokenizer could have words of a document that is forgotten meanwhile.
TEST_F(RebuildTest, NobodyForgetsWhileTheTokenizerIsLearned) {
  memorize(store(), "one", document_text(1) + document_text(1));
  rebuild_store(store(), [&] {
    EXPECT_THROW(MemoWriter{store()}, std::runtime_error);
    return tokenizer_of_documents(store(), 300);
  });
  EXPECT_EQ(text_of(MemoStore(store()), "one"), document_text(1) + document_text(1));
}

TEST_F(RebuildTest, RefusesAndLeavesTheStoreAsItWas) {
  EXPECT_THAT(message_of<UsageError>([&] { tokenizer_of_documents(store(), 300); }),
              HasSubstr("holds no documents to learn a tokenizer from"));
  memorize(store(), "one", document_text(1));
  {
    MemoWriter writer(store());
    EXPECT_THROW(rebuild_store(store(), byte_tokenizer), std::runtime_error) << "is written";
    writer.describe("one", {7, 0, "another digest", {}});
  }
  const std::string before = digest(store());
  EXPECT_THAT(message_of<DataError>([&] { rebuild_store(store(), byte_tokenizer); }),
              HasSubstr("the tokens of 'one' do not give back its text"));
  EXPECT_EQ(digest(store()), before);
  EXPECT_THAT(folders(), ::testing::ElementsAre("store"));
}

/// They would be lost with the old folder.
TEST_F(RebuildTest, RefusesWhereOtherFilesLieInTheFolder) {
  memorize(store(), "one", document_text(1) + document_text(1));
  const std::string before = digest(store());
  const std::string refusal = "notes.txt: is not a file of the store and would be lost";
  write_file(store() / "notes.txt", "mine");
  EXPECT_THAT(message_of<DataError>([&] { rebuild(300); }), HasSubstr(refusal));
  std::filesystem::remove(store() / "notes.txt");
  const auto write_meanwhile = [&](int64_t, int64_t) { write_file(store() / "notes.txt", "mine"); };
  EXPECT_THAT(
      message_of<DataError>([&] { rebuild_store(store(), byte_tokenizer, write_meanwhile); }),
      HasSubstr(refusal));
  EXPECT_EQ(read_file(store() / "notes.txt"), "mine");
  EXPECT_EQ(digest(store()), before);
  EXPECT_THAT(folders(), ::testing::ElementsAre("store"));
  std::filesystem::remove(store() / "notes.txt");
  write_file(store() / "config.json.unfinished-abcdef", "left by a process that was killed");
  rebuild(300);
}

/// No file is damaged, though it is not the one that belongs to what was read before.
TEST_F(RebuildTest, WhoIsJustOpeningTheStoreTriesAgain) {
  memorize(store(), "one", document_text(1));
  const StoreFolder before = StoreFolder::open(store());
  const Ledger ledger = before.open_ledger(sqlite::Access::kRead);
  rebuild(300);
  const std::string refusal = "another process has rebuilt this store meanwhile; try again";
  for (const auto access : {sqlite::Access::kRead, sqlite::Access::kWrite})
    EXPECT_THAT(message_of<std::runtime_error>([&] { before.open_ledger(access); }),
                HasSubstr(refusal));
  EXPECT_THAT(message_of<std::runtime_error>([&] { before.open_matrices(ledger); }),
              HasSubstr(refusal));
}

TEST_F(RebuildTest, AnEmptyStoreGetsItsTokenizer) {
  rebuild_store(store(), [] { return Tokenizer::bytes(EndOfText::kAbsent); });
  EXPECT_EQ(MemoStore(store()).tokenizer().vocabulary_size(), 256);
}

TEST_F(RebuildTest, AStoreThatOthersMayNotReadStaysSo) {
  std::filesystem::permissions(store(), std::filesystem::perms::owner_all);
  rebuild_store(store(), byte_tokenizer);
  EXPECT_EQ(std::filesystem::status(store()).permissions(), std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace tessera::store
