// Stores made to harm whoever opens them: refused at once, by name, and nothing beside them
// touched.

#include <sys/stat.h>

#include "tessera/store/question.h"
#include "tessera/store/sqlite.h"
#include "tests/store/damage.h"

namespace tessera::store {
namespace {

class HostileStore : public Damage {
 protected:
  /// Puts the store back as it was, after a look at the complaint.
  std::string complaint_after(const std::function<void()>& change) {
    std::filesystem::copy(store(), store("whole"));
    change();
    std::string message = complaint();
    EXPECT_THROW(memorize(store(), "three", document_text(3)), DataError);
    std::filesystem::remove_all(store());
    std::filesystem::rename(store("whole"), store());
    EXPECT_EQ(complaint(), "");
    return message;
  }
  void replace_by_pipe(const std::string& name) const {
    std::filesystem::remove(file(name));
    ASSERT_EQ(::mkfifo(file(name).c_str(), 0600), 0);
  }
};

TEST_F(HostileStore, PipesInThePlaceOfFilesAreNotWaitedFor) {
  for (const char* name : {"config.json", "tokenizer.json", "ledger.sqlite", "ledger.sqlite-wal",
                           "ledger.sqlite-shm", "memory.safetensors"})
    EXPECT_THAT(complaint_after([&] { replace_by_pipe(name); }),
                HasSubstr(std::string(name) + ": is not a regular file"));
}

TEST_F(HostileStore, FoldersAndLinksInThePlaceOfFiles) {
  for (const char* name : {"config.json", "ledger.sqlite", "memory.safetensors"})
    EXPECT_THAT(complaint_after([&] {
                  std::filesystem::remove(file(name));
                  std::filesystem::create_directory(file(name));
                }),
                HasSubstr(std::string(name) + ": is not a regular file"));
  // SQLite would write its log to wherever the link points.
  EXPECT_THAT(complaint_after([&] {
                std::filesystem::remove(file("ledger.sqlite-wal"));
                std::filesystem::create_symlink(folder_ / "elsewhere", file("ledger.sqlite-wal"));
              }),
              HasSubstr("ledger.sqlite-wal: is not a regular file"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

TEST_F(HostileStore, LoopsOfLinks) {
  std::filesystem::create_symlink("loop", folder_ / "loop");
  const std::string reason = "Too many levels of symbolic links";
  EXPECT_THAT(message_of<SystemError>([&] { MemoStore(folder_ / "loop"); }), HasSubstr(reason));
  for (const char* name : {"config.json", "ledger.sqlite", "memory.safetensors"}) {
    std::filesystem::remove(file(name));
    std::filesystem::create_symlink(name, file(name));
    const std::string message = message_of<SystemError>([&] { MemoStore{store()}; });
    EXPECT_THAT(message, HasSubstr(std::string(name) + ": cannot open: " + reason));
    std::filesystem::remove(file(name));
    std::filesystem::copy_file(store_of("spare-" + std::string(name), {}) / name, file(name));
  }
}

/// SQLite plays such a journal back, and it may name a file that is to be deleted then.
TEST_F(HostileStore, ARollbackJournalIsNotPlayedBack) {
  EXPECT_THAT(complaint_after([&] { overwrite(file("ledger.sqlite-journal"), "anything"); }),
              HasSubstr("ledger.sqlite-journal: is not a file of a memo store"));
}

TEST_F(HostileStore, AViewWithoutEndInThePlaceOfATable) {
  EXPECT_THAT(
      after_sql("ALTER TABLE documents RENAME TO d; CREATE VIEW documents AS WITH RECURSIVE r(n) "
                "AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS number, 'x' AS id, 1 AS "
                "tokens, 1 AS pairs, '' AS checksum FROM r"),
      HasSubstr("ledger.sqlite: its tables are not those of a ledger; it was altered"));
}

TEST_F(HostileStore, ATriggerThatUndoesWhatIsWritten) {
  EXPECT_THAT(complaint_after([&] {
                sql("CREATE TRIGGER undo AFTER INSERT ON documents BEGIN DELETE FROM documents; "
                    "END");
              }),
              HasSubstr("its tables are not those of a ledger"));
}

TEST_F(HostileStore, IdsThatCommandTheTerminal) {
  for (const char* id : {"'a' || char(27) || '[31m'", "'a' || char(10)", "char(155) || '31m'",
                         "CAST(x'ff41' AS TEXT)"}) {
    const std::string change = "UPDATE documents SET id = " + std::string(id) + " WHERE number = 2";
    EXPECT_THAT(after_sql(change),
                HasSubstr("document 2: its id is not UTF-8 or has control characters"));
  }
}

/// A history is JSON, which holds UTF-8 only.
TEST_F(HostileStore, ADigestThatIsNotUtf8DoesNotKeepADocumentFromBeingForgotten) {
  sql("UPDATE details SET digest = CAST(x'ff41' AS TEXT) WHERE document = 1");
  overwrite(file(StoreFolder::kHistoryFile), "");
  forget(store(), "one");
  EXPECT_THAT(read_file(file(StoreFolder::kHistoryFile)), HasSubstr(R"("sha256":"\\xffA")"));
}

TEST_F(HostileStore, NumbersOutOfAllBounds) {
  EXPECT_THAT(after_sql("UPDATE store SET last_change = 9223372036854775807"),
              HasSubstr("its last change has the number 9223372036854775807"));
  EXPECT_THAT(after_sql("UPDATE store SET last_change = -1"), HasSubstr("has the number -1"));
  for (const char* column : {"tokens", "pairs"})
    for (const char* value : {"-1", "9223372036854775807"})
      EXPECT_THAT(after_sql("UPDATE documents SET " + std::string(column) + " = " + value +
                            " WHERE number = 1"),
                  HasSubstr("document 1: it has"));
  EXPECT_THAT(after_sql("UPDATE documents SET number = 0 WHERE number = 1"),
              HasSubstr("document 0 follows document 0"));
}

/// Questions find their places by the index, and then read the documents there.
TEST_F(HostileStore, AnIndexOfOtherTextsThanTheDocuments) {
  const std::string question = document_text(1).substr(0, 120);
  ASSERT_GT(read_question(MemoStore(store()), question).tokens.size(), 0u);
  for (const char* change :
       {"INSERT INTO words (rowid, text) SELECT 77, text FROM words WHERE rowid = 1;"
        "INSERT INTO passages VALUES (77, 99, 1)",
        "UPDATE passages SET document = 3 - document", "UPDATE words SET text = upper(text)"}) {
    std::filesystem::copy(store(), store("other"));
    sqlite::Database((store("other") / "ledger.sqlite").native(), sqlite::Access::kWrite)
        .execute(change);
    EXPECT_THAT(message_of<DataError>([&] { read_question(MemoStore(store("other")), question); }),
                HasSubstr("full-text index has a text that no document has"))
        << change;
    std::filesystem::remove_all(store("other"));
  }
}

/// Its neighbours have numbers beyond 64 bits.
TEST_F(HostileStore, APassageWithTheLastNumber) {
  const std::string question = document_text(1).substr(0, 120);
  sql("INSERT INTO words (rowid, text) SELECT 9223372036854775807, text FROM words LIMIT 1");
  EXPECT_EQ(read_question(MemoStore(store()), question).differences, 0);
}

/// A page that two others lead to: what is read row by row would come again and again.
class CircularPages : public HostileStore {
 protected:
  /// Gives the table these rows of many bytes, i from 3 to 40, and a page that comes twice.
  void lead_round(const std::string& table, const std::string& row_of_i);
};

void CircularPages::lead_round(const std::string& table, const std::string& row_of_i) {
  sql("WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO " +
      table + " SELECT " + row_of_i + " FROM n");
  int64_t root = 0;
  {
    const sqlite::Database database(file("ledger.sqlite"), sqlite::Access::kRead);
    sqlite::Statement row(database, "SELECT rootpage FROM sqlite_schema WHERE name = ?1", table);
    ASSERT_TRUE(row.step());
    root = row.integer(0);
  }
  // An inner page: 12 bytes of header, the places of its cells, and in each cell the page below.
  std::string bytes = read_file(file("ledger.sqlite"));
  const size_t page = static_cast<size_t>(root - 1) * 4096;
  const auto cell = [&](size_t number) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[page + at]); };
    return page + byte(12 + 2 * number) * 256u + byte(13 + 2 * number);
  };
  ASSERT_EQ(bytes[page], 5) << "no inner page";
  bytes.replace(cell(1), 4, bytes, cell(0), 4);
  overwrite(file("ledger.sqlite"), bytes);
  std::filesystem::remove(file("ledger.sqlite-wal"));
}

TEST_F(CircularPages, OfDocuments) {
  lead_round("documents", "i, printf('%0900d', i), 0, 0, ''");
  const MemoStore opened(store());
  EXPECT_THAT(message_of<DataError>([&] { opened.ledger().documents(); }),
              HasSubstr("document 1 follows document"));
  EXPECT_THAT(message_of<DataError>([&] { opened.ledger().totals(); }), HasSubstr("follows"));
  EXPECT_THAT(complaint(), HasSubstr("ledger.sqlite: is damaged"));
}

TEST_F(CircularPages, OfNamesThatAreForgotten) {
  lead_round("forgotten", "i, printf('%0900d', i)");
  const MemoStore opened(store());
  EXPECT_THAT(message_of<DataError>([&] { opened.ledger().unerased(); }),
              HasSubstr("forgotten document 3 follows forgotten document"));
}

TEST_F(CircularPages, OfPassages) {
  sql("WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO "
      "words (rowid, text) SELECT i, text FROM n, words WHERE words.rowid = 1");
  lead_round("passages", "i, 1, printf('x%0900d', i)");
  const MemoStore opened(store());
  EXPECT_THAT(message_of<DataError>([&] {
                opened.ledger().visit_neighbourhoods({"tells", "violin"}, 1,
                                                     [](Neighbourhood&&) { return size_t{1}; });
              }),
              HasSubstr("follows passage"));
}

TEST_F(HostileStore, PathsThatMeanSomethingToSQLite) {
  for (const char* name : {"a?mode=memory", "b%20c", "d#e", "f g"}) {
    MemoStore::create(store(name), small_memory(), byte_tokenizer());
    memorize(store(name), "one", document_text(1));
    EXPECT_EQ(verify(MemoStore(store(name))).totals.documents, 1) << name;
  }
  EXPECT_EQ(verify(MemoStore("/" + store().native())).totals.documents, 2);
}

}  // namespace
}  // namespace tessera::store
