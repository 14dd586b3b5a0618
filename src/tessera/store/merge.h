#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "tessera/store/ledger.h"

namespace tessera {

/// Makes a new store that holds the documents of all `stores`, in their order; its memory is the
/// sum of theirs, bit for bit what memorizing all documents into one gives. The new store appears
/// whole or not at all; the others stay as they are. Throws UsageError where the stores differ in
/// their configuration or two hold a document of the same id, or where `out` is there already.
/// on_progress: stores done.
LedgerTotals merge_stores(const std::filesystem::path& out,
                          const std::vector<std::filesystem::path>& stores,
                          const std::function<void(int64_t done)>& on_progress = {});

}  // namespace tessera
