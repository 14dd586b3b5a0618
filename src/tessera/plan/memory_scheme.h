#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::theory {

/// How strongly each association is stored (Cabannes et al. 2024, eqs. 10-12):
/// q(x) = p(x)^rho on the `stored` most frequent inputs, 0 elsewhere. rho = 0 stores all equally
/// (eq. 10), rho = 1 by frequency (eq. 11), stored < N is the thresholded scheme (eq. 12).
struct MemoryScheme {
  static constexpr int64_t kAll = INT64_MAX;

  double rho = 0;
  int64_t stored = kAll;  // P
};

/// q(x) from the true law. law [N], most frequent first -> [N].
/// Throws UsageError unless rho >= 0 and stored is kAll or in [1, N].
std::vector<float> scheme_weights(const MemoryScheme& scheme, std::span<const double> law);

/// q(x) from counts of a sample, p(x) read as counts / T: unseen inputs get 0, and the `stored`
/// inputs are the most often counted ones, ties going to the smaller index. [N] -> [N].
std::vector<float> scheme_weights(const MemoryScheme& scheme, std::span<const int64_t> counts);

}  // namespace tessera::theory
