#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace tessera {

/// `count` numbers: first, first + 1, …
template <typename Number>
std::vector<Number> consecutive(int64_t count, Number first = 0) {
  std::vector<Number> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

}  // namespace tessera
