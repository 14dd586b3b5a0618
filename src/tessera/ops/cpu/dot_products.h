#pragma once

// Only for *.isa.cpp files: products of a few vectors with many rows that are read once.

#include <cmath>

#include "tessera/simd/vector.h"

namespace tessera::ops::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;

/// Rows whose dot products with one vector become one vector of results.
constexpr int64_t kRowsTogether = kLanes;
/// Vectors that are multiplied with a row while it lies in a register.
constexpr int64_t kVectorsTogether = TESSERA_VECTOR_BYTES == 64 ? 4 : 2;

/// Asks for the memory that lies kAhead bytes behind the next `bytes` bytes.
template <int64_t bytes>
inline void prefetch(const void* next) {
  constexpr int64_t kAhead = 16384, kCacheLine = 64;
#pragma GCC unroll 16
  for (int64_t k = 0; k < bytes; k += kCacheLine)
    __builtin_prefetch(static_cast<const char*>(next) + kAhead + k);
}

/// totals [vectors, kRowsTogether], of which it fills `rows` columns: vector times row, lane by
/// lane. Vectors and rows lie `length` apart.
template <int vectors, int rows, typename Element>
inline void lane_products(const float* x, const Element* first_row, int64_t length, bool ask_ahead,
                          Vector* totals) {
  Vector sums[vectors][rows] = {};
  const auto add = [&](int64_t k, auto load_at) {
    Vector factors[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) factors[v] = load_at(x + v * length + k);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const Vector row = load_at(first_row + r * length + k);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[v][r] += factors[v] * row;
    }
  };
  const Element* next = first_row;
  int64_t k = 0;
  for (; k + kLanes <= length; k += kLanes, next += rows * kLanes) {
    if (ask_ahead) prefetch<rows * kLanes * sizeof(Element)>(next);
    add(k, [](const auto* p) { return load(p); });
  }
  if (k < length) add(k, [rest = length - k](const auto* p) { return load_part(p, rest); });
  for (int v = 0; v < vectors; ++v)
    for (int r = 0; r < rows; ++r) totals[v * kRowsTogether + r] = sums[v][r];
}

/// Sums neighbouring lanes, `reach` apart: those of a into the lanes whose number has no bit
/// `reach`, those of b into the others.
template <int reach>
inline Vector fold(Vector a, Vector b) {
  constexpr int kOther = static_cast<int>(kLanes);
  const IntVector lane = lane_numbers();
  const IntVector from_b = (lane & reach) != 0;
  return __builtin_shuffle(a, b, from_b ? lane + kOther : lane) +
         __builtin_shuffle(a, b, from_b ? lane + kOther - reach : lane + reach);
}

/// Lane r of the result is the sum over rows[r] for all r below `count`, a power of 2.
template <int count>
inline Vector sum_each(const Vector* rows) {
  if constexpr (count == 1)
    return rows[0];
  else
    return fold<count / 2>(sum_each<count / 2>(rows), sum_each<count / 2>(rows + count / 2));
}

/// Lane r of results[v] is vector v . row r, of `count` <= kRowsTogether rows of `length` elements;
/// 0 beyond. Rows of floats or bfloat16. A product costs the same additions in the same order
/// wherever it stands. ask_ahead: for rows out of the cache and so long that several at a time are
/// too much for the processor's own prefetching.
template <int vectors, typename Element>
inline void dot_products(const float* x, const Element* rows, int64_t count, int64_t length,
                         bool ask_ahead, Vector* results) {
  constexpr int kGroup = 4;  // rows that are read side by side
  Vector totals[vectors * kRowsTogether];
  if (count == kRowsTogether) {
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRowsTogether; r += kGroup)
      lane_products<vectors, kGroup>(x, rows + r * length, length, ask_ahead, totals + r);
  } else {
    for (Vector& total : totals) total = Vector{};
    for (int64_t r = 0; r < count; ++r)
      lane_products<vectors, 1>(x, rows + r * length, length, ask_ahead, totals + r);
  }
#pragma GCC unroll 4
  for (int v = 0; v < vectors; ++v)
    results[v] = sum_each<kRowsTogether>(totals + v * kRowsTogether);
}

/// The rest of a row, filled up with what changes no softmax.
inline Vector load_scores(const float* scores, int64_t count) {
  if (count >= kLanes) return load(scores);
  Vector rest = fill(-INFINITY);
  for (int64_t lane = 0; lane < count; ++lane) rest[lane] = scores[lane];
  return rest;
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
