#pragma once

// Only for *.isa.cpp files: the read of one head's pairs with one query.

#include "tessera/ops/cpu/dot_products.h"
#include "tessera/ops/cpu/int8_slots.h"

namespace tessera::ops::cpu::TESSERA_ISA {

/// scores [count] = query . key of each pair, keys of floats or bfloat16; returns the largest.
template <typename Element>
inline float score(const float* query, const Element* keys, int64_t count, int64_t D,
                   float* scores) {
  Vector best = fill(-INFINITY);
  for (int64_t i = 0; i < count; i += kRowsTogether) {
    const int64_t rows = count - i < kRowsTogether ? count - i : kRowsTogether;
    Vector result;
    dot_products<1>(query, keys + i * D, rows, D, /*ask_ahead=*/false, &result);
    store_part(scores + i, result, rows);
    best = larger(best, load_scores(scores + i, rows));
  }
  return largest(best);
}

/// Scores [count] -> softmax weights.
inline void softmax(float* scores, int64_t count, float maximum) {
  Vector total{};
  for (int64_t i = 0; i < count; i += kLanes) {
    const Vector weight = exponential(load_scores(scores + i, count - i) - maximum);
    total += weight;
    store_part(scores + i, weight, count - i);
  }
  const float scale = 1 / sum(total);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) scores[i] *= scale;
}

/// y [vectors * kLanes] = sum_i weights_i row i; rows are D apart. Several rows at a time keep the
/// additions from waiting for one another.
template <int vectors, typename Element>
inline void add_columns(const float* weights, const Element* rows, int64_t count, int64_t D,
                        float* y) {
  constexpr int kRows = 8 / vectors;
  Vector totals[kRows][vectors] = {};
  int64_t i = 0;
  for (; i + kRows <= count; i += kRows)
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r) {
      const Element* row = rows + (i + r) * D;
#pragma GCC unroll 4
      for (int64_t v = 0; v < vectors; ++v) totals[r][v] += weights[i + r] * load(row + v * kLanes);
    }
  for (; i < count; ++i)
    for (int64_t v = 0; v < vectors; ++v)
      totals[0][v] += weights[i] * load(rows + i * D + v * kLanes);
  for (int64_t v = 0; v < vectors; ++v) {
    for (int64_t r = 1; r < kRows; ++r) totals[0][v] += totals[r][v];
    store(y + v * kLanes, totals[0][v]);
  }
}

/// y [D] = sum_i weights_i row i, of floats or bfloat16.
template <typename Element>
inline void weighted_sum(const float* weights, const Element* rows, int64_t count, int64_t D,
                         float* y) {
  int64_t d = 0;
  for (; d + 4 * kLanes <= D; d += 4 * kLanes) add_columns<4>(weights, rows + d, count, D, y + d);
  for (; d + 2 * kLanes <= D; d += 2 * kLanes) add_columns<2>(weights, rows + d, count, D, y + d);
  for (; d + kLanes <= D; d += kLanes) add_columns<1>(weights, rows + d, count, D, y + d);
  if (d == D) return;
  Vector rest{};
  for (int64_t i = 0; i < count; ++i) rest += weights[i] * load_part(rows + i * D + d, D - d);
  store_part(y + d, rest, D - d);
}

/// y [D] = sum_i softmax_i(query . key_i) value_i over `count` pairs, 0 without one. keys, values
/// [count, D], of floats, bfloat16 or in 8 bits (int8_slots.h); weights [count] receives those of
/// the softmax.
template <typename Element>
inline void read_pairs(const float* query, const Element* keys, const Element* values,
                       int64_t count, int64_t D, float* weights, float* y) {
  if (count > 0) softmax(weights, count, score(query, keys, count, D, weights));
  weighted_sum(weights, values, count, D, y);
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
