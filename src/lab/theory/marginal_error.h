#pragma once

#include <cstdint>
#include <span>

#include "tessera/plan/association_task.h"

namespace tessera::theory {

/// Error in one draw of what matters to it: U, and for each input the noise on its M scores, which
/// has the law of population_errors for that input, but is drawn independently from input to input.
/// The law is exact given |e_x|^2, which is drawn by squared_length(). The mean over seeds is that
/// of population_errors at a cost free of d beyond M^2 d; the spread over seeds is not. The same
/// numbers for any number of threads.
double marginal_error(const AssociationTask& task, std::span<const float> weights,
                      int64_t dimension, uint64_t seed);

}  // namespace tessera::theory
