#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tessera/store/memo_store.h"

namespace tessera {

struct Verification {
  LedgerTotals totals;
  std::string digest;
};

/// Holds everything in a store against everything else: the ledger's structure, the checksum of
/// every document, the matrix file's checksum, and the memory against one made anew from the
/// documents. Returns the digest that both have; throws DataError that says what differs.
/// on_progress: tokens memorized anew, of all.
Verification verify(const MemoStore& store,
                    const std::function<void(int64_t done, int64_t tokens)>& on_progress = {});

}  // namespace tessera
