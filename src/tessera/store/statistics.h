#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/store/fullness.h"
#include "tessera/store/memo_store.h"

namespace tessera::store {

/// What a store holds.
struct StoreStatistics {
  std::string digest;  ///< MemoStore::digest()
  LedgerTotals totals;
  Fullness fullness;
  memo::TextMemoryConfig memory;
  std::string tokenizer;                       ///< Tokenizer::description()
  int64_t matrix_bytes = 0, ledger_bytes = 0;  ///< of their files
  bool erasure_pending = false;                ///< as Ledger has it
  std::vector<std::string> unerased;
};

/// As the files say it, without reading the matrices, if they hold the last change. Throws as
/// MemoStore::memory().
StoreStatistics statistics_of(const MemoStore& store);

}  // namespace tessera::store
