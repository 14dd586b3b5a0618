#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "tessera/store/sqlite.h"

namespace tessera::store {

/// The version of a ledger's tables. Version 1 lacked the table 'forgotten', version 2 details and
/// metadata of documents and the full-text index, version 3 the table 'shards' and version 4
/// 'settled'.
constexpr int64_t kLedgerFormat = 5;

/// A temporary ledger with the documents of another, as if they had been stored one after the other
/// and nothing else had ever been: numbers from 1 on, no journal. A small one is in memory, of a
/// large one a part. digests: of the matrices that hold these documents, shard by shard.
sqlite::Database settled_copy(const std::filesystem::path& ledger,
                              std::span<const std::string> digests);

/// Returns the path if it is safe to let SQLite open it and the files beside it: SQLite would wait
/// for a pipe, and a rollback journal, which a ledger never has, could make it delete any file.
/// Throws DataError if the ledger is missing or one of these files is not a regular file.
const std::filesystem::path& checked_ledger_path(const std::filesystem::path& path);

/// The SQL of all tables, indexes, views and triggers in a file, each with its type and name.
std::string ledger_schema(const sqlite::Database& database);

/// The version of a ledger's tables, 1 to kLedgerFormat. Throws DataError if the file is not a
/// ledger or has another version.
int64_t ledger_format(const sqlite::Database& database);

/// Returns ledger_format(). Throws as it does, and DataError if the ledger has another
/// configuration, or holds other tables than its version has. Another process may upgrade it
/// meanwhile.
int64_t check_ledger_tables(sqlite::Database& database, const std::string& config);

/// Brings tables of an earlier version up to kLedgerFormat, in one transaction.
void upgrade_ledger_tables(sqlite::Database& database, int64_t format);

/// Replaces the full-text index, whatever state it is in, by one without passages, within a
/// transaction of the caller.
void empty_passage_index(sqlite::Database& database);

}  // namespace tessera::store
