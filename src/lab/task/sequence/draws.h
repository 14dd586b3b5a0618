#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "tessera/base/random.h"

namespace tessera::task {

/// The random numbers of a sample: one stream for the sizes that a batch may share, one for the
/// rest. A negative index has streams of its own, which no sample uses.
RandomStream size_stream(uint64_t seed, int64_t index);
RandomStream content_stream(uint64_t seed, int64_t index);

/// The size of sample `index`, from low to high: of each high - low + 1 consecutive samples every
/// one has another size, in random order, so that no set has more of the long ones than another.
int64_t draw_size(uint64_t seed, int64_t index, int64_t low, int64_t high);

/// A whole number from low to high, both included.
int64_t draw_between(RandomStream& random, int64_t low, int64_t high);

/// `count` different numbers of {0, …, n - 1} in random order; count <= n.
std::vector<int64_t> draw_distinct(RandomStream& random, int64_t n, int64_t count);

/// {0, …, n - 1} in random order.
std::vector<int64_t> draw_permutation(RandomStream& random, int64_t n);

/// Chance for those who tell simulated stories.
class Draws {
 public:
  explicit Draws(RandomStream random) : random_(random) {}

  RandomStream& random() { return random_; }
  /// One of several, each as likely.
  template <typename Items>
  const auto& pick(const Items& items) {
    const auto place = static_cast<std::ptrdiff_t>(random_.below(std::size(items)));
    return *std::next(std::begin(items), place);
  }
  bool chance(double probability) { return random_.uniform() < probability; }

 private:
  RandomStream random_;
};

/// Samples 0 … count - 1 in their order, `rows` at a time; the last batch may have fewer.
std::vector<std::vector<int64_t>> batches_in_order(int64_t count, int64_t rows);

/// The samples of step `step` of an endless set, each seen once: step · rows on.
std::vector<int64_t> fresh_samples(int64_t step, int64_t rows);

/// The order in which training goes through a set of fixed size: each epoch another random order
/// without repetition, cut into batches; what is left of an epoch below a batch is left out.
/// What step t draws is a pure function of (seed, t).
class EpochOrder {
 public:
  /// Throws UsageError unless 1 <= rows <= size.
  EpochOrder(uint64_t seed, int64_t size, int64_t rows);

  int64_t steps_per_epoch() const { return size_ / rows_; }
  std::vector<int64_t> samples(int64_t step);

 private:
  uint64_t seed_;
  int64_t size_, rows_;
  int64_t epoch_ = -1;  ///< the epoch that order_ belongs to
  std::vector<int64_t> order_;
};

}  // namespace tessera::task
