#pragma once

#include <cstdint>
#include <vector>

namespace tessera::memo {

/// Standard normals times `scale`, rounded to whole numbers and clipped to +-limit. They are the
/// same bits on every machine: 16 random bits index a table of Phi at the rounding bounds.
class RoundedNormal {
 public:
  /// limit in 1..127.
  RoundedNormal(double scale, int limit);

  /// Numbers first, ..., first + count - 1 of a stream of Philox; `first` must be a multiple of 8.
  void draw(uint64_t seed, uint64_t stream, int64_t first, int64_t count, int8_t* numbers) const;
  /// The exact root mean square of the rounded numbers.
  double deviation() const { return deviation_; }

 private:
  std::vector<int8_t> table_;  // [2^16]
  double deviation_ = 0;
};

}  // namespace tessera::memo
