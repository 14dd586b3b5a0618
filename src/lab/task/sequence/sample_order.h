#pragma once

#include <cstdint>
#include <vector>

namespace tessera::task {

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
