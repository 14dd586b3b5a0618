#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/plan/association_task.h"

/// Errors of simulated memories other than those of population_errors().
namespace tessera::theory {

/// Error in one draw of what matters to it: U, and for each input the noise on its M scores, which
/// has the law of population_errors for that input, but is drawn independently from input to input.
/// The law is exact given |e_x|^2, which is drawn by squared_length(). The mean over seeds is that
/// of population_errors at a cost free of d beyond M^2 d; the spread over seeds is not. The same
/// numbers for any number of threads.
double marginal_error(const AssociationTask& task, std::span<const float> weights,
                      int64_t dimension, uint64_t seed);

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

// What better embeddings than random ones buy (Cabannes et al. 2024, sections 4 and A.9).

/// Lemma 1, equation (29): below exp(d eta^2 / 4) directions, an eta-quasi-orthogonal family
/// (Definition 1, equation 22: |<u_z, u_z'>| <= eta for z != z') exists.
double quasi_orthogonal_count(int64_t dimension, double eta);

/// Model (23): argmax over y of <u_y, sum over the `stored` first inputs x' of
/// u_f(x') relu(<e_x', e_x> - eta)>, with random unit e and u. Its error falls with
/// exp(-(alpha - 1) eta^2 d / 4), but it keeps every e_x': stored * d parameters.
double rectified_lookup_error(const AssociationTask& task, int64_t stored, int64_t dimension,
                              double eta, uint64_t seed);

/// Proposition 5: e_x = u_f(x) with random unit u for the `stored_outputs` most frequent outputs
/// and 0 for the others, q(x) = 1 / (number of inputs of that output). Exact population error; an
/// input whose embedding is 0 counts as wrong.
double merged_embeddings_error(const AssociationTask& task, int32_t stored_outputs,
                               int64_t dimension, uint64_t seed);

/// Proposition 5, right side of (49): the mass of the outputs beyond the most frequent ones,
/// p(f(x) > P). Reached while P < exp(c eta^2 d).
double unstored_output_mass(const AssociationTask& task, int32_t stored_outputs);

}  // namespace tessera::theory
