#pragma once

// Only for *.isa.cpp files: what read_pairs needs of slots in 8 bits (ops/weights.h). Queries and
// softmax weights stay floats; a block of a slot becomes floats in registers.

#include <cstring>

#include "tessera/ops/cpu/dot_products.h"
#include "tessera/ops/cpu/weight_rows.h"

namespace tessera::ops::cpu::TESSERA_ISA {

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

}  // namespace tessera::ops::cpu::TESSERA_ISA
