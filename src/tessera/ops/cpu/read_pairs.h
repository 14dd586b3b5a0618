#pragma once

// Only for *.isa.cpp files: the read of one head's pairs with one query or with several.

#include <cstring>

#include "tessera/ops/cpu/dot_products.h"
#include "tessera/ops/cpu/tensor_views.h"

namespace tessera::ops::cpu::TESSERA_ISA {

// Slots in 8 bits (ops/weights.h): queries and softmax weights stay floats; a block of a slot
// becomes floats in registers.

constexpr int kVectorsOfBlock = kWeightBlock / kLanes;

/// A scale of a row of D numbers.
inline float scale_of(const int8_t* row, int64_t block, int64_t D) {
  const auto* scales = reinterpret_cast<const BFloat16*>(row + weight_blocks(D) * kWeightBlock);
  const uint32_t bits = uint32_t{scales[block]} << 16;
  return __builtin_bit_cast(float, bits);
}

/// totals [queries, kLanes], of which it fills `rows` columns: query times row, lane by lane.
template <int queries, int rows>
inline void lane_scores(const float* query, const int8_t* first_row, int64_t D, Vector* totals) {
  const int64_t pitch = int8_row_bytes(D);
  Vector sums[queries][rows] = {};
  for (int64_t b = 0; b < weight_blocks(D); ++b) {
    Vector factors[queries][kVectorsOfBlock];
    for (int q = 0; q < queries; ++q)
      for (int v = 0; v < kVectorsOfBlock; ++v) {
        const int64_t d = b * kWeightBlock + v * kLanes;
        factors[q][v] = load_part(query + q * D + d, D - d);
      }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const int8_t* row = first_row + r * pitch;
      const float scale = scale_of(row, b, D);
      Vector parts[kVectorsOfBlock];
      for (int v = 0; v < kVectorsOfBlock; ++v)
        parts[v] = load(row + b * kWeightBlock + v * kLanes);
#pragma GCC unroll 4
      for (int q = 0; q < queries; ++q) {
        Vector sum{};
        for (int v = 0; v < kVectorsOfBlock; ++v) sum += factors[q][v] * parts[v];
        sums[q][r] += sum * scale;
      }
    }
  }
  for (int q = 0; q < queries; ++q)
    for (int r = 0; r < rows; ++r) totals[q * kLanes + r] = sums[q][r];
}

template <int queries>
inline void score(const float* query, const int8_t* keys, int64_t count, int64_t D, float* scores,
                  float* most) {
  constexpr int kGroup = 4;  // rows that are read side by side
  const int64_t pitch = int8_row_bytes(D);
  Vector best[queries];
  for (Vector& one : best) one = fill(-INFINITY);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t rows = count - i < kLanes ? count - i : kLanes;
    Vector totals[queries * kLanes];
    if (rows < kLanes) std::memset(totals, 0, sizeof totals);
    int64_t r = 0;
    for (; r + kGroup <= rows; r += kGroup)
      lane_scores<queries, kGroup>(query, keys + (i + r) * pitch, D, totals + r);
    for (; r < rows; ++r) lane_scores<queries, 1>(query, keys + (i + r) * pitch, D, totals + r);
    for (int q = 0; q < queries; ++q) {
      float* of_query = scores + q * count + i;
      store_part(of_query, sum_each<kLanes>(totals + q * kLanes), rows);
      best[q] = larger(best[q], load_scores(of_query, rows));
    }
  }
  for (int q = 0; q < queries; ++q) most[q] = largest(best[q]);
}

template <int queries>
inline void weighted_sum(const float* weights, const int8_t* rows, int64_t count, int64_t D,
                         float* y) {
  constexpr int kGroup = 4;  // sums that do not wait for one another
  const int64_t pitch = int8_row_bytes(D);
  for (int64_t b = 0; b < weight_blocks(D); ++b) {
    Vector sums[queries][kGroup][kVectorsOfBlock] = {};
    const auto add = [&](int64_t i, int64_t r) {
      const int8_t* row = rows + i * pitch;
      const float scale = scale_of(row, b, D);
      for (int v = 0; v < kVectorsOfBlock; ++v) {
        const Vector part = load(row + b * kWeightBlock + v * kLanes);
#pragma GCC unroll 2
        for (int q = 0; q < queries; ++q) sums[q][r][v] += weights[q * count + i] * scale * part;
      }
    };
    int64_t i = 0;
    for (; i + kGroup <= count; i += kGroup)
#pragma GCC unroll 4
      for (int64_t r = 0; r < kGroup; ++r) add(i + r, r);
    for (; i < count; ++i) add(i, 0);
    for (int q = 0; q < queries; ++q)
      for (int v = 0; v < kVectorsOfBlock; ++v) {
        const int64_t d = b * kWeightBlock + v * kLanes;
        const auto& sum = sums[q];
        if (d < D)
          store_part(y + q * D + d, sum[0][v] + sum[1][v] + (sum[2][v] + sum[3][v]), D - d);
      }
  }
}

// Slots of floats or bfloat16.

/// scores [queries, count] = query . key of each pair; most [queries]: the largest of each query.
/// Queries are D apart.
template <int queries, typename Element>
inline void score(const float* query, const Element* keys, int64_t count, int64_t D, float* scores,
                  float* most) {
  Vector best[queries], results[queries];
  for (Vector& one : best) one = fill(-INFINITY);
  for (int64_t i = 0; i < count; i += kRowsTogether) {
    const int64_t rows = count - i < kRowsTogether ? count - i : kRowsTogether;
    dot_products<queries>(query, keys + i * D, rows, D, results);
    for (int q = 0; q < queries; ++q) {
      store_part(scores + q * count + i, results[q], rows);
      best[q] = larger(best[q], load_scores(scores + q * count + i, rows));
    }
  }
  for (int q = 0; q < queries; ++q) most[q] = largest(best[q]);
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

/// y [queries, vectors * kLanes] = sum_i weights_qi row i; rows, and queries in y, are D apart.
/// Several rows at a time keep the additions from waiting for one another.
template <int queries, int vectors, typename Element>
inline void add_columns(const float* weights, const Element* rows, int64_t count, int64_t D,
                        float* y) {
  constexpr int kRows = 8 / vectors;
  Vector totals[queries][kRows][vectors] = {};
  const auto add = [&](int64_t i, int64_t r) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) {
      const Vector row = load(rows + i * D + v * kLanes);
#pragma GCC unroll 2
      for (int64_t q = 0; q < queries; ++q) totals[q][r][v] += weights[q * count + i] * row;
    }
  };
  int64_t i = 0;
  for (; i + kRows <= count; i += kRows)
#pragma GCC unroll 8
    for (int64_t r = 0; r < kRows; ++r) add(i + r, r);
  for (; i < count; ++i) add(i, 0);
  for (int64_t q = 0; q < queries; ++q)
    for (int64_t v = 0; v < vectors; ++v) {
      for (int64_t r = 1; r < kRows; ++r) totals[q][0][v] += totals[q][r][v];
      store(y + q * D + v * kLanes, totals[q][0][v]);
    }
}

/// y [queries, D] = sum_i weights_qi row i, of floats or bfloat16; weights [queries, count].
template <int queries, typename Element>
inline void weighted_sum(const float* weights, const Element* rows, int64_t count, int64_t D,
                         float* y) {
  int64_t d = 0;
  for (; d + 4 * kLanes <= D; d += 4 * kLanes)
    add_columns<queries, 4>(weights, rows + d, count, D, y + d);
  for (; d + 2 * kLanes <= D; d += 2 * kLanes)
    add_columns<queries, 2>(weights, rows + d, count, D, y + d);
  for (; d + kLanes <= D; d += kLanes) add_columns<queries, 1>(weights, rows + d, count, D, y + d);
  if (d == D) return;
  for (int q = 0; q < queries; ++q) {
    Vector rest{};
    for (int64_t i = 0; i < count; ++i)
      rest += weights[q * count + i] * load_part(rows + i * D + d, D - d);
    store_part(y + q * D + d, rest, D - d);
  }
}

/// y_q [D] = sum_i softmax_i(query_q . key_i) value_i over `count` pairs, 0 without one, for
/// queries and results that are D apart. keys, values [count, D], of floats, bfloat16 or in 8 bits;
/// weights [queries, count] receives those of the softmax. The bits of a result do not depend on
/// the other queries.
template <int queries, typename Element>
inline void read_pairs(const float* query, const Element* keys, const Element* values,
                       int64_t count, int64_t D, float* weights, float* y) {
  constexpr int kSummed = kLanes == 16 && queries % 2 == 0 ? 2 : 1;  // as registers allow
  float most[queries];
  if (count > 0) {
    score<queries>(query, keys, count, D, weights, most);
    for (int q = 0; q < queries; ++q) softmax(weights + q * count, count, most[q]);
  }
  for (int q = 0; q < queries; q += kSummed)
    weighted_sum<kSummed>(weights + q * count, values, count, D, y + q * D);
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
