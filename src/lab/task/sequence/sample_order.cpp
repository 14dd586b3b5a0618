#include "lab/task/sequence/sample_order.h"

#include "lab/task/sequence/draws.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"

namespace tessera::task {

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
    RandomStream random(seed_, static_cast<uint64_t>(epoch));
    order_ = draw_permutation(random, size_);
    epoch_ = epoch;
  }
  const auto begin = order_.begin() + step % steps_per_epoch() * rows_;
  return {begin, begin + rows_};
}

}  // namespace tessera::task
