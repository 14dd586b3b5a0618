#include "tessera/store/detail/ledger_tables.h"

#include <fmt/format.h>

#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/store/ledger.h"

namespace tessera::store {
namespace {

using sqlite::Access;
using sqlite::Database;
using sqlite::Statement;

constexpr int64_t kApplication = 0x5465734D;  // "TesM"
constexpr int kCopyKib = 16 << 10;            // of a copy in memory; the rest is in a file

constexpr const char* kSchema1 = R"(
  CREATE TABLE store (config TEXT NOT NULL, last_change INTEGER NOT NULL,
                      erase INTEGER NOT NULL);
  CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
                          tokens INTEGER NOT NULL, pairs INTEGER NOT NULL,
                          checksum TEXT NOT NULL);
  CREATE TABLE pieces (document INTEGER NOT NULL, piece INTEGER NOT NULL, tokens BLOB NOT NULL,
                       UNIQUE (document, piece));
  CREATE TABLE changes (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, document INTEGER NOT NULL,
                        tokens INTEGER NOT NULL, checksum TEXT NOT NULL);
)";
constexpr const char* kAddedBy2 = R"(
  CREATE TABLE forgotten (number INTEGER PRIMARY KEY, id TEXT NOT NULL);
)";

constexpr const char* kAddedBy3 = R"(
  CREATE TABLE details (document INTEGER PRIMARY KEY, bytes INTEGER NOT NULL,
                        memorized INTEGER NOT NULL, digest TEXT NOT NULL);
  CREATE TABLE metadata (document INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
                         UNIQUE (document, key));
  CREATE TABLE passages (number INTEGER PRIMARY KEY, document INTEGER NOT NULL,
                         line INTEGER NOT NULL);
  CREATE INDEX passages_of_document ON passages (document);
  CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61');
)";
constexpr const char* kAddedBy4 = R"(
  CREATE TABLE shards (shard INTEGER PRIMARY KEY, change INTEGER NOT NULL);
)";
constexpr const char* kAddedBy5 = R"(
  CREATE TABLE settled (shard INTEGER PRIMARY KEY, digest TEXT NOT NULL);
)";
/// What settled_copy() takes from the ledger, which is attached as 'held'.
constexpr const char* kCopy = R"(
  INSERT INTO store SELECT config, 0, erase FROM held.store;
  INSERT INTO documents SELECT row_number() OVER (ORDER BY number), id, tokens, pairs, checksum
    FROM held.documents ORDER BY number;
  CREATE TEMP TABLE numbers AS SELECT d.number AS old, n.number AS new
    FROM documents n JOIN held.documents d ON d.id = n.id ORDER BY d.number;
  CREATE UNIQUE INDEX temp.numbers_by_old ON numbers (old);
  INSERT INTO pieces SELECT new, piece, tokens FROM numbers JOIN held.pieces ON document = old
    ORDER BY new, piece;
  INSERT INTO details SELECT new, bytes, memorized, digest
    FROM numbers JOIN held.details ON document = old ORDER BY new;
  INSERT INTO metadata SELECT new, key, value FROM numbers JOIN held.metadata ON document = old
    ORDER BY new, key;
  CREATE TEMP TABLE kept AS SELECT number AS old, new AS document, line
    FROM numbers JOIN held.passages ON document = numbers.old ORDER BY new, number;
  INSERT INTO passages SELECT rowid, document, line FROM kept ORDER BY rowid;
  INSERT INTO words (rowid, text) SELECT kept.rowid, text
    FROM kept JOIN held.words w ON w.rowid = kept.old ORDER BY kept.rowid;
  INSERT INTO words (words) VALUES ('optimize');
  -- Below the numbers of all documents to come, which may be forgotten before these are erased.
  INSERT INTO forgotten SELECT -row_number() OVER (ORDER BY number DESC), id FROM held.forgotten;
  DROP TABLE temp.kept;
  DROP TABLE temp.numbers;
)";
constexpr const char* kEmptyIndex = R"(
  DROP TABLE words;
  CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61');
  DELETE FROM passages;
)";

/// What creates the tables that versions first to last added.
std::string schema_from(int64_t first, int64_t last) {
  const char* added[] = {kSchema1, kAddedBy2, kAddedBy3, kAddedBy4, kAddedBy5};
  std::string sql;
  for (int64_t format = first; format <= last; ++format) sql += added[format - 1];
  return sql;
}

int64_t pragma(const Database& database, const std::string& name) {
  Statement value(database, "PRAGMA " + name);
  return value.step() ? value.integer(0) : 0;
}

/// ledger_schema() of this format. To make them takes longer than to read one, so that they are
/// made once.
const std::string& schema_of_format(int64_t format) {
  static const std::vector<std::string> schemas = [] {
    std::vector<std::string> made;
    Database ledger(":memory:", Access::kWrite);
    for (int64_t version = 1; version <= kLedgerFormat; ++version) {
      ledger.execute(schema_from(version, version));
      made.push_back(ledger_schema(ledger));
    }
    return made;
  }();
  return schemas[format - 1];
}

/// A view in place of a table could have endless rows; a trigger could undo what is written.
void check_schema(const Database& database, int64_t format) {
  if (ledger_schema(database) != schema_of_format(format))
    throw DataError(database.path(), "its tables are not those of a ledger; it was altered");
}

void check_config(const Database& database, const std::string& config) {
  Statement row(database, "SELECT config FROM store");
  const std::string made_with = row.step() ? row.text(0) : "";
  if (made_with != config)
    throw DataError(database.path(),
                    "was created with {}, but config.json and tokenizer.json beside it say {}; one "
                    "of them was altered or belongs to another store",
                    made_with, config);
}

void create_tables(Database& database) {
  database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};{}",
                               kApplication, kLedgerFormat, schema_from(1, kLedgerFormat)));
}

}  // namespace

std::string ledger_schema(const Database& database) {
  Statement rows(database,
                 "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema "
                 "ORDER BY name");
  std::string schema;
  while (rows.step()) schema += rows.text(0) + '\n';
  return schema;
}

const std::filesystem::path& checked_ledger_path(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  if (!is_there(path))
    throw DataError(path.native(), "is missing; it holds the documents of the store");
  const std::string file = fs::canonical(path).native();
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const auto type = fs::symlink_status(file + suffix).type();
    if (type != fs::file_type::regular && type != fs::file_type::not_found)
      throw DataError(path.native() + suffix, "is not a regular file");
  }
  if (fs::symlink_status(file + "-journal").type() != fs::file_type::not_found)
    throw DataError(path.native() + "-journal", "is not a file of a memo store; remove it");
  return path;
}

void Ledger::create(const std::filesystem::path& path, const std::string& config) {
  Database database(path, Access::kWrite);
  database.execute("PRAGMA journal_mode = WAL");
  sqlite::Transaction creation(database, Access::kWrite);  // one sync for all tables
  create_tables(database);
  Statement(database, "INSERT INTO store VALUES (?1, 0, 0)", config).run();
  creation.commit();
}

Database settled_copy(const std::filesystem::path& ledger, std::span<const std::string> digests) {
  Database copy("", Access::kWrite);
  copy.attach(ledger, "held");
  copy.execute(fmt::format(
      "PRAGMA page_size = {}; PRAGMA main.journal_mode = OFF; PRAGMA temp_store = FILE; "
      "PRAGMA cache_size = -{}",
      pragma(copy, "held.page_size"), kCopyKib));
  create_tables(copy);
  copy.execute(kCopy);
  copy.execute("DETACH held");
  for (size_t s = 0; s < digests.size(); ++s)
    Statement(copy, "INSERT INTO settled VALUES (?1, ?2)", static_cast<int64_t>(s), digests[s])
        .run();
  return copy;
}

int64_t ledger_format(const Database& database) {
  if (pragma(database, "application_id") != kApplication)
    throw DataError(database.path(), "is not the ledger of a memo store");
  const int64_t format = pragma(database, "user_version");
  if (format < 1 || format > kLedgerFormat)
    throw DataError(database.path(), "has format {}, this version of Tessera reads formats 1 to {}",
                    format, kLedgerFormat);
  return format;
}

int64_t check_ledger_tables(Database& database, const std::string& config) {
  const sqlite::Transaction moment(database, Access::kRead);
  const int64_t format = ledger_format(database);
  check_schema(database, format);
  check_config(database, config);
  return format;
}

void upgrade_ledger_tables(Database& database, int64_t format) {
  sqlite::Transaction upgrade(database, Access::kWrite);
  database.execute(fmt::format("{} PRAGMA user_version = {};",
                               schema_from(format + 1, kLedgerFormat), kLedgerFormat));
  upgrade.commit();
}

void empty_passage_index(Database& database) {
  database.execute(kEmptyIndex);
}

}  // namespace tessera::store
