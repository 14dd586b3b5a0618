#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "tessera/store/ledger.h"

namespace tessera::store {

/// Adds Ledger::forgotten() to the history that a store's folder keeps, if it keeps one. To be
/// called before their text is erased: a process killed afterwards does it again, and a document
/// that is there already is left out. digests: of the matrices without these documents, shard by
/// shard; those before are the ledger's settled ones, unknown in one that an earlier version wrote.
/// Throws SystemError; then the history is as before.
void note_in_history(const std::filesystem::path& folder, const Ledger& ledger,
                     std::span<const std::string> digests);

}  // namespace tessera::store
