#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::theory {

/// What a memory W [d, d] and its output embeddings U [M, d] tell of their own load, without any
/// data: n_y = |W^T u_y|^2 / d, the variance of a random probe's score of each output, where W =
/// sum over x of q(x) u_f(x) e_x^T with |e_x| near 1. [M]. Throws UsageError where the sizes do not
/// fit.
std::vector<double> class_noise(std::span<const float> memory,
                                std::span<const float> output_embeddings, int64_t dimension);

/// The likelihood-ratio decoder: argmax over y of (s_y - 1/2) / n_y + log prior_y, for scores s [M]
/// of one probe whose right answer has weight 1. Frequent outputs are noisier and more
/// likely; argmax of s knows neither. prior: the share of each output among what is stored; outputs
/// of prior 0 are never answered. Throws UsageError on sizes that differ or no prior.
int32_t likelihood_ratio_answer(std::span<const float> scores, std::span<const double> class_noise,
                                std::span<const double> prior);

}  // namespace tessera::theory
