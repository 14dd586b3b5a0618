#pragma once

// Only for *.isa.cpp files: a row of floats [D] in the numbers that a memory keeps, the same bits
// as stored_as() of ops/weights.h gives.

#include <cmath>
#include <cstring>

#include "tessera/ops/cpu/weight_rows.h"

namespace tessera::ops::cpu::TESSERA_ISA {

inline uint32_t bits_of(float x) {
  return __builtin_bit_cast(uint32_t, x);
}

/// To nearest even; NaN stays NaN.
inline BFloat16 to_bfloat16(float x) {
  const uint32_t bits = bits_of(x), odd = bits >> 16 & 1;
  return x != x ? 0x7fc0 : static_cast<BFloat16>((bits + 0x7fff + odd) >> 16);
}

inline void store_row(const float* x, int64_t D, float* row) {
  std::memcpy(row, x, D * sizeof(float));
}

inline void store_row(const float* x, int64_t D, BFloat16* row) {
  for (int64_t d = 0; d < D; ++d) row[d] = to_bfloat16(x[d]);
}

/// A block that holds a NaN or an infinity has a scale that is NaN, and so reads as NaN.
inline void store_row(const float* x, int64_t D, int8_t* row) {
  auto* scales = reinterpret_cast<BFloat16*>(row + weight_blocks(D) * kWeightBlock);
  std::memset(row, 0, weight_blocks(D) * kWeightBlock);
  for (int64_t block = 0; block < weight_blocks(D); ++block) {
    const int64_t first = block * kWeightBlock,
                  count = D - first < kWeightBlock ? D - first : kWeightBlock;
    float largest = 0, zero = 0;  // zero becomes NaN where an element is not finite
    for (int64_t d = first; d < first + count; ++d) {
      largest = std::fmax(largest, std::abs(x[d]));
      zero += x[d] - x[d];
    }
    const uint32_t scale_bits = (bits_of(largest / 127) + 0xffff) & 0xffff0000;  // rounded up
    const float scale = __builtin_bit_cast(float, scale_bits);
    scales[block] = zero == 0 ? static_cast<BFloat16>(scale_bits >> 16) : 0x7fc0;
    if (zero != 0 || scale == 0) continue;
    for (int64_t d = first; d < first + count; ++d) {
      const float whole = std::nearbyint(x[d] / scale);
      row[d] = static_cast<int8_t>(whole > 127 ? 127 : whole < -127 ? -127 : whole);
    }
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
