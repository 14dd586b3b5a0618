#pragma once

#include <filesystem>
#include <string>

#include "tessera/store/sqlite.h"

namespace tessera {

/// A new ledger's file, with the tables that Ledger tells of and no documents.
void create_ledger_tables(const std::filesystem::path& path, const std::string& config);

/// The same path, where SQLite may open it and what it keeps beside it: it would wait for a pipe,
/// and a rollback journal, which a ledger never has, may tell it to delete any file. Throws
/// DataError where the ledger is missing or one of these files is of another kind.
const std::filesystem::path& checked_ledger_path(const std::filesystem::path& path);

/// Throws DataError where the file is no ledger, one of another format or configuration, or holds
/// anything but the tables it was made with.
void check_ledger_tables(const sqlite::Database& database, const std::string& config);

}  // namespace tessera
