#pragma once

#include <filesystem>
#include <string>

#include "tessera/store/sqlite.h"

namespace tessera::store {

/// Creates a ledger's file with the tables described at Ledger, without documents.
void create_ledger_tables(const std::filesystem::path& path, const std::string& config);

/// Returns the path if it is safe to let SQLite open it and the files beside it: SQLite would wait
/// for a pipe, and a rollback journal, which a ledger never has, could make it delete any file.
/// Throws DataError if the ledger is missing or one of these files is not a regular file.
const std::filesystem::path& checked_ledger_path(const std::filesystem::path& path);

/// Throws DataError if the file is not a ledger, has another format or configuration, or holds
/// other tables than it was created with.
void check_ledger_tables(const sqlite::Database& database, const std::string& config);

}  // namespace tessera::store
