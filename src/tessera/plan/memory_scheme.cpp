#include "tessera/plan/memory_scheme.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/base/error.h"

namespace tessera::theory {
namespace {

/// The number of inputs to store, at most `inputs`.
size_t checked_stored(const MemoryScheme& scheme, size_t inputs) {
  check_argument(scheme.rho >= 0, "MemoryScheme: the power rho is {}; it must not be negative",
                 scheme.rho);
  if (scheme.stored == MemoryScheme::kAll) return inputs;
  check_argument(scheme.stored >= 1 && static_cast<size_t>(scheme.stored) <= inputs,
                 "MemoryScheme: {} associations to store out of {} inputs", scheme.stored, inputs);
  return static_cast<size_t>(scheme.stored);
}

}  // namespace

std::vector<float> scheme_weights(const MemoryScheme& scheme, std::span<const double> law) {
  const size_t stored = checked_stored(scheme, law.size());
  std::vector<float> weights(law.size(), 0.0f);
  // Relative to the most frequent input: the error does not depend on the scale of q, float does.
  for (size_t x = 0; x < stored; ++x)
    weights[x] = static_cast<float>(std::pow(law[x] / law[0], scheme.rho));
  return weights;
}

std::vector<float> scheme_weights(const MemoryScheme& scheme, std::span<const int64_t> counts) {
  const size_t stored = checked_stored(scheme, counts.size());
  std::vector<float> weights(counts.size(), 0.0f);
  const int64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  const auto store = [&](size_t x) {
    if (counts[x] > 0)
      weights[x] = static_cast<float>(
          std::pow(static_cast<double>(counts[x]) / static_cast<double>(most), scheme.rho));
  };
  if (stored == counts.size()) {
    for (size_t x = 0; x < counts.size(); ++x) store(x);
    return weights;
  }
  std::vector<size_t> order(counts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::partial_sort(
      order.begin(), order.begin() + static_cast<int64_t>(stored), order.end(),
      [&](size_t a, size_t b) { return counts[a] != counts[b] ? counts[a] > counts[b] : a < b; });
  for (size_t i = 0; i < stored; ++i) store(order[i]);
  return weights;
}

}  // namespace tessera::theory
