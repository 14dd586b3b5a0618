#pragma once

// Only for *.isa.cpp files.

#include "tessera/ops/cpu/vector.h"

namespace tessera::cpu::TESSERA_ISA {

/// Rows whose dot products with one vector are computed together.
constexpr int64_t kRowsTogether = 4;

/// result[r] = x . row r, of `count` <= kRowsTogether neighbouring rows of `length` elements. One
/// row costs the same additions in the same order wherever it stands.
inline void dot_products(const float* x, const float* rows, int64_t count, int64_t length,
                         float* result) {
  Vector totals[kRowsTogether] = {};
  const int64_t whole = length / kLanes * kLanes;
  if (count == kRowsTogether) {
    for (int64_t k = 0; k < whole; k += kLanes) {
      const Vector factor = load(x + k);
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRowsTogether; ++r) totals[r] += factor * load(rows + r * length + k);
    }
  } else {
    for (int64_t r = 0; r < count; ++r)
      for (int64_t k = 0; k < whole; k += kLanes)
        totals[r] += load(x + k) * load(rows + r * length + k);
  }
  for (int64_t r = 0; r < count; ++r) {
    result[r] = sum(totals[r]);
    for (int64_t k = whole; k < length; ++k) result[r] += x[k] * rows[r * length + k];
  }
}

}  // namespace tessera::cpu::TESSERA_ISA
