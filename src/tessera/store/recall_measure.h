#pragma once

#include <cstdint>

#include "tessera/base/interrupt.h"
#include "tessera/store/memo_store.h"

namespace tessera::store {

/// How well a store recalls its own documents.
struct MeasuredRecall {
  int64_t positions = 0;  ///< asked, each once
  int64_t right = 0;      ///< of these, where the best token is the one in the document
  int64_t recalled = 0;   ///< of these, where the memory did not abstain

  double share_right() const { return share(right); }
  double share_abstained() const { return share(positions - recalled); }

 private:
  double share(int64_t count) const {
    return static_cast<double>(count) / static_cast<double>(positions > 0 ? positions : 1);
  }
};

/// Asks the memory for the token at `positions` random positions of the documents (at all, if there
/// are no more); the context is the tokens before it in its document. Positions with fewer tokens
/// before them than the shortest window do not count. If equal windows are followed by different
/// tokens, no memory can be right each time. on_progress: positions.
MeasuredRecall measure_recall(const MemoStore& store, int64_t positions, uint64_t seed,
                              const OnProgress& on_progress = {});

}  // namespace tessera::store
