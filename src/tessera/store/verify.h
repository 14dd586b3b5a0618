#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/interrupt.h"
#include "tessera/store/memo_store.h"

namespace tessera::store {

struct Verification {
  LedgerTotals totals;
  std::string digest;
  bool erasure_pending = false;  ///< as Ledger has it
  std::vector<std::string> unerased;
  int64_t log_bytes = 0;  ///< as Ledger has it
};

/// Checks everything in a store: the ledger's structure, the checksum of every document, the
/// checksums of the matrix files, what they say of their content, and the memory against one
/// rebuilt from the documents. That takes as long as memorizing them all, and the memory of both.
/// Returns the digest that both have; throws DataError that names what differs. on_progress: tokens
/// memorized.
Verification verify(const MemoStore& store, const OnProgress& on_progress = {});

}  // namespace tessera::store
