#pragma once

#include <cstdint>
#include <vector>

#include "tessera/plan/association_task.h"

namespace tessera::theory {

/// Weights q(x, y) of W = sum over x and y of q(x, y) u_y e_x^T (Cabannes et al. 2024, eq. 3) that
/// store every input equally often.
enum class OutputWeights {
  kPlain,    ///< 1 at y = f(x): equation (4)
  kCentred,  ///< 1 at y = f(x), and -1/M at every y: u_f(x) less the mean output
  kDual,     ///< such that the stored vector answers <u_y, .> = 1 at y = f(x) and 0 elsewhere
};

/// q(x) in {0, 1}: the first `most` inputs of each output are stored, so that the energies Q_y of
/// the outputs are equal where they have so many inputs (Cabannes et al. 2024, footnote 2). [N]
std::vector<float> capped_weights(const AssociationTask& task, int64_t most);

/// Exact population error (eq. 5) for one draw of the embeddings: e_x standard normal, u_y uniform
/// on the sphere, those of population_errors. Throws UsageError unless d >= 1, and where
/// kDual has more outputs than dimensions.
double general_weights_error(const AssociationTask& task, OutputWeights weights, int64_t dimension,
                             uint64_t seed);

}  // namespace tessera::theory
