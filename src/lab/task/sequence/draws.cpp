#include "lab/task/sequence/draws.h"

#include <utility>

#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"

namespace tessera::task {

RandomStream size_stream(uint64_t seed, int64_t index) {
  return RandomStream(seed, 2 * static_cast<uint64_t>(index));
}

RandomStream content_stream(uint64_t seed, int64_t index) {
  return RandomStream(seed, 2 * static_cast<uint64_t>(index) + 1);
}

int64_t draw_size(uint64_t seed, int64_t index, int64_t low, int64_t high) {
  const int64_t sizes = high - low + 1;
  RandomStream random = size_stream(seed, index / sizes);
  return low + draw_permutation(random, sizes)[static_cast<size_t>(index % sizes)];
}

int64_t draw_between(RandomStream& random, int64_t low, int64_t high) {
  check_argument(low <= high, "draw_between: nothing lies between {} and {}", low, high);
  return low + static_cast<int64_t>(random.below(static_cast<uint64_t>(high - low) + 1));
}

std::vector<int64_t> draw_distinct(RandomStream& random, int64_t n, int64_t count) {
  check_argument(0 <= count && count <= n, "draw_distinct: {} different numbers of {}", count, n);
  std::vector<int64_t> numbers = consecutive<int64_t>(n);
  // The first steps of a Fisher-Yates shuffle.
  for (int64_t i = 0; i < count; ++i)
    std::swap(numbers[static_cast<size_t>(i)],
              numbers[static_cast<size_t>(draw_between(random, i, n - 1))]);
  numbers.resize(static_cast<size_t>(count));
  return numbers;
}

std::vector<int64_t> draw_permutation(RandomStream& random, int64_t n) {
  return draw_distinct(random, n, n);
}

}  // namespace tessera::task
