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

/// sums[v]: vector v times the row, lane by lane. Vectors lie `length` apart.
template <int vectors, typename Element>
inline void lane_products(const float* x, const Element* row, int64_t length, Vector* sums) {
  // Two sums in turn, which do not wait for one another.
  Vector totals[vectors] = {}, others[vectors] = {};
  const auto add = [&](Vector* to, int64_t k, auto load_at) {
    fetch_ahead(row + k, vectors);
    const Vector elements = load_at(row + k);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) to[v] += load_at(x + v * length + k) * elements;
  };
  const auto whole = [](const auto* p) { return load(p); };
  int64_t k = 0;
  for (; k + 2 * kLanes <= length; k += 2 * kLanes) {
    add(totals, k, whole);
    add(others, k + kLanes, whole);
  }
  for (; k + kLanes <= length; k += kLanes) add(totals, k, whole);
  if (k < length) add(others, k, [rest = length - k](const auto* p) { return load_part(p, rest); });
  for (int v = 0; v < vectors; ++v) sums[v * kRowsTogether] = totals[v] + others[v];
}

/// Sums neighbouring lanes, `reach` apart: those of a into the lanes whose number has no bit
/// `reach`, those of b into the others.
template <int reach>
inline Vector fold(Vector a, Vector b) {
  constexpr int kOther = static_cast<int>(kLanes);
  const Integers lane = lane_numbers();
  const Integers from_b = (lane & reach) != 0;
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
/// wherever it stands. Rows are read one after the other, which the processor foresees: four at a
/// time, with prefetching, took twice as long where they came from memory.
template <int vectors, typename Element>
inline void dot_products(const float* x, const Element* rows, int64_t count, int64_t length,
                         Vector* results) {
  Vector totals[vectors * kRowsTogether];
  if (count < kRowsTogether)
    for (Vector& total : totals) total = Vector{};
  for (int64_t r = 0; r < count; ++r)
    lane_products<vectors>(x, rows + r * length, length, totals + r);
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
