#pragma once

#include "tessera/memory/relational/two_memory_cell.h"
#include "tessera/model/initialisation.h"

namespace tessera {

/// The parameters of a cell that are not linear maps, as the authors: its memories as linear maps
/// of 2D and 2D + N inputs, the forget gate's bias 1, gains 1, factors at their first values, the
/// rest 0.
void initialise_memories(TwoMemoryCell& cell, Initialiser& draw);

}  // namespace tessera
