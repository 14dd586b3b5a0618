#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "tessera/plan/association_task.h"

namespace tessera::theory {

/// The streams of random numbers (see GaussianField) of e_x and u_y.
constexpr uint64_t kInputStream = 0, kOutputStream = 1;

/// `count` independent uniform directions in d dimensions: the first rows of a Gaussian field at
/// unit length. [count, d]
std::vector<float> random_directions(int64_t count, int64_t dimension, uint64_t seed,
                                     uint64_t stream = 0);

/// One memory to simulate: W = sum over x of q(x) u_f(x) e_x^T (Cabannes et al. 2024, eq. 4),
/// decoded in each of `dimensions`.
struct SimulatedMemory {
  std::vector<float> weights;       ///< [N] q(x)
  std::vector<int64_t> dimensions;  ///< d, ascending, each >= 1
};

/// Exact population error (Cabannes et al. 2024, eq. 5) of each memory in each of its dimensions,
/// for one draw of the embeddings: e_x standard normal, u_y uniform on the sphere. The embeddings
/// of a smaller dimension are the prefix of those of a larger one (u renormalised), and all
/// memories of a call share them. They are drawn from `seed` in blocks and never held for more
/// than a few million entries, so N = 10^6 needs little more room than the law itself.
///
/// W is never formed where M < d: scores are (E V^T) U U^T with v_y the sum of q(x) e_x over the
/// inputs of output y, N d M + N M^2 multiplications in place of N d^2 + N d M.
///
/// Returns [memory][dimension]. The same numbers for any number of threads. Throws
/// UsageError on a weight vector of the wrong length or on dimensions out of order; Interrupted
/// once it is asked to stop.
std::vector<std::vector<double>> population_errors(const AssociationTask& task,
                                                   std::span<const SimulatedMemory> memories,
                                                   uint64_t seed, const std::stop_token& stop = {});

/// The same for embeddings that are given: inputs [N, d] and outputs [M, d], row-major, used as
/// they are (neither is renormalised).
double population_error(const AssociationTask& task, std::span<const float> weights,
                        std::span<const float> input_embeddings,
                        std::span<const float> output_embeddings, int64_t dimension);

/// Population error of scores [N, M], row-major: the largest score of a row is the answer, the
/// first one where several are equal.
double population_error_of_scores(const AssociationTask& task, std::span<const float> scores);

/// The task with the mass of inputs shared evenly among those that a memory of equal weights reads
/// alike: stored inputs, and inputs not stored, whose outputs have equally many stored ones. Their
/// embeddings are drawn alike, so the expected error is the same; but a run no longer errs by the
/// luck of a few frequent inputs, and some hundred runs have the mean that else takes many
/// thousand. weights [N]: q(x), 0 or one value. Throws UsageError on a wrong length.
AssociationTask with_shared_mass(AssociationTask task, std::span<const float> weights);

}  // namespace tessera::theory
