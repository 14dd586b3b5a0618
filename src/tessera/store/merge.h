#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "tessera/store/ledger.h"

namespace tessera::store {

/// Creates a store that holds the documents of all `stores`, in their order. Its memory is the sum
/// of theirs, less what several hold identically, the same bits as memorizing all documents into
/// one store. It appears as a whole or not at all; the others stay unchanged. Throws UsageError if
/// the stores differ in their configuration, if two hold different texts under the same id, or if
/// `out` already exists. on_progress: stores done.
LedgerTotals merge_stores(const std::filesystem::path& out,
                          const std::vector<std::filesystem::path>& stores,
                          const std::function<void(int64_t done)>& on_progress = {});

}  // namespace tessera::store
