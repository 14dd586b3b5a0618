#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

/// Standard normals times `scale`, rounded to whole numbers and cut at +-limit: the same bits on
/// every machine, because 16 random bits are looked up in a table of Phi at the rounding bounds.
class RoundedNormal {
 public:
  /// limit in 1..127.
  RoundedNormal(double scale, int limit);

  /// The numbers first, ..., first + count - 1 of a stream of Philox; `first` a multiple of 8.
  void draw(uint64_t seed, uint64_t stream, int64_t first, int64_t count, int8_t* numbers) const;
  /// The root of their mean square, exactly that of the rounded numbers.
  double deviation() const { return deviation_; }

 private:
  std::vector<int8_t> table_;  // [2^16]
  double deviation_ = 0;
};

}  // namespace tessera
