#include "lab/task/sequence/draws.h"

#include <algorithm>
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
  return low + draw_permutation(random, sizes)[index % sizes];
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
    std::swap(numbers[i], numbers[draw_between(random, i, n - 1)]);
  numbers.resize(count);
  return numbers;
}

std::vector<int64_t> draw_permutation(RandomStream& random, int64_t n) {
  return draw_distinct(random, n, n);
}

std::vector<std::vector<int64_t>> batches_in_order(int64_t count, int64_t rows) {
  check_argument(rows > 0, "batches_in_order: {} rows", rows);
  std::vector<std::vector<int64_t>> batches;
  for (int64_t first = 0; first < count; first += rows)
    batches.push_back(consecutive(std::min(rows, count - first), first));
  return batches;
}

std::vector<int64_t> fresh_samples(int64_t step, int64_t rows) {
  check_argument(step >= 0 && rows > 0, "fresh_samples: step {} of {} rows", step, rows);
  return consecutive(rows, step * rows);
}

EpochOrder::EpochOrder(uint64_t seed, int64_t size, int64_t rows)
    : seed_(seed), size_(size), rows_(rows) {
  if (rows < 1 || rows > size)
    throw UsageError("a batch of {} samples cannot be drawn from a set of {}", rows, size);
}

std::vector<int64_t> EpochOrder::samples(int64_t step) {
  check_argument(step >= 0, "EpochOrder: step {}", step);
  const int64_t epoch = step / steps_per_epoch();
  if (epoch != epoch_) {
    RandomStream random(seed_, epoch);
    order_ = draw_permutation(random, size_);
    epoch_ = epoch;
  }
  const auto begin = order_.begin() + step % steps_per_epoch() * rows_;
  return {begin, begin + rows_};
}

}  // namespace tessera::task
