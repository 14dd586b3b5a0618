#pragma once

#include <cstdint>
#include <functional>

#include "tessera/store/memo_store.h"

namespace tessera {

/// How well a store recalls its own documents.
struct MeasuredRecall {
  int64_t positions = 0;  ///< looked at, each once
  int64_t right = 0;      ///< where the best token is the one that follows in the document
  int64_t recalled = 0;   ///< where the memory did not abstain
};

/// Reads the memory at `positions` random places of the documents (all places where there are no
/// more): the tokens before it in its document are the context. Places with fewer tokens before
/// them than the shortest window do not count. Where equal windows go on differently no memory can
/// be right each time.
MeasuredRecall measure_recall(const MemoStore& store, int64_t positions, uint64_t seed,
                              const std::function<void(int64_t done)>& on_progress = {});

}  // namespace tessera
