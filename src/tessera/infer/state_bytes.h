#pragma once

#include <cstdint>

#include "tessera/memory/stored_pairs.h"

namespace tessera {

class LanguageModel;

/// Bytes that the state of one sequence holds after `tokens` tokens (1 or more): found by reading
/// two, since a state that grows grows by as much with each token, until the bound.
double state_bytes(LanguageModel& model, int64_t tokens, MemoryBound bound = {});

}  // namespace tessera
