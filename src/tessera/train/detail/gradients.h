#pragma once

#include "tessera/train/learner.h"
#include "tessera/train/optimizer.h"

namespace tessera {

class Processes;

/// Seeds LibTorch's default generator from (seed, step, draw).
void seed_generator(uint64_t seed, int64_t step, uint64_t draw);

/// The mean loss of the micro-batches of one update, and its gradient in the parameters' grad.
/// With several `processes` (null: one), micro-batch i is computed by process i mod their number,
/// and the sums are the same in all of them. The loss is read from its device once. Throws
/// UsageError where a loss is no scalar with a graph; ProcessLost.
double compute_gradients(Learner& learner, Optimizer& optimizer, int64_t step,
                         Processes* processes);

}  // namespace tessera
