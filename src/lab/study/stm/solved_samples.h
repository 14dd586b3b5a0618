#pragma once

#include "lab/task/sequence/sequence_task.h"
#include "tessera/report/tiles.h"

namespace tessera::stm_study {

/// The first samples of a task over points or graphs with their solutions marked, as in Le et al.
/// 2020, figure 5. Points stand where they are, the nodes of a graph on a circle.
Sketches solved_samples(const task::SequenceTask& task, uint64_t seed, int64_t count);

}  // namespace tessera::stm_study
