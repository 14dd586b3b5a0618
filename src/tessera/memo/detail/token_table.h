#pragma once

#include <cstdint>
#include <memory>
#include <span>
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

/// The codes of the tokens, E [V, d]: normals of standard deviation 2, rounded to whole numbers
/// from -7 to 7. Each takes half a byte, because scoring the next token is one pass over all of
/// them.
class TokenTable {
 public:
  TokenTable(int64_t vocabulary, int64_t dimension, uint64_t seed, uint64_t stream);

  /// Writes the code [d] of a token.
  void copy_row(int32_t token, int8_t* row) const;
  /// scores[n] [V] = scale v_n E^T for every row v_n of values [n, d]. Differs from eq. 4 of
  /// Zanzotto et al. 2025: v is first rounded to 255 steps. The error is about one hundredth of the
  /// scores of tokens unrelated to v (max|v| / rms(v) / 440 of these scores).
  void score(std::span<const float> values, float scale, std::span<float* const> scores) const;
  /// The root mean square of an entry.
  double deviation() const { return law_.deviation(); }

 private:
  int64_t vocabulary_, dimension_;
  int64_t width_;  // d, up to whole groups of nibbles
  RoundedNormal law_;
  std::shared_ptr<uint8_t> rows_;  // [V, width / 2]
};

}  // namespace tessera::memo
