#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace tessera {

/// The smallest integer in (low, high] that `reached`, which is monotone, accepts; it must accept
/// high.
template <typename Reached>
int64_t smallest(int64_t low, int64_t high, const Reached& reached) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

/// The smallest integer in [first, most] that `reached`, which is monotone, accepts, found by steps
/// that double; none if it does not accept `most`.
template <typename Reached>
std::optional<int64_t> smallest_up_to(int64_t first, int64_t most, const Reached& reached) {
  int64_t low = first - 1, high = first;
  while (!reached(high)) {
    if (high == most) return {};
    low = std::exchange(high, std::min(2 * high, most));
  }
  return smallest(low, high, reached);
}

}  // namespace tessera
