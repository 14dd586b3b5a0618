#pragma once

// Only for *.isa.cpp files: what read_pairs needs of slots in 8 bits (ops/weights.h). Queries and
// softmax weights stay floats; a block of a slot becomes floats in registers.

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

/// totals [rows] = query times each of `rows` rows, lane by lane.
template <int rows>
inline void lane_scores(const float* query, const int8_t* first_row, int64_t D, Vector* totals) {
  const int64_t pitch = int8_row_bytes(D);
  for (int r = 0; r < rows; ++r) totals[r] = Vector{};
  for (int64_t b = 0; b < weight_blocks(D); ++b) {
    Vector factors[kVectorsOfBlock];
    for (int v = 0; v < kVectorsOfBlock; ++v) {
      const int64_t d = b * kWeightBlock + v * kLanes;
      factors[v] = load_part(query + d, D - d);
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const int8_t* row = first_row + r * pitch;
      Vector sum{};
      for (int v = 0; v < kVectorsOfBlock; ++v)
        sum += factors[v] * load(row + b * kWeightBlock + v * kLanes);
      totals[r] += sum * scale_of(row, b, D);
    }
  }
}

template <int queries>
inline void score(const float* query, const int8_t* keys, int64_t count, int64_t D, float* scores,
                  float* most) {
  static_assert(queries == 1);
  constexpr int kGroup = 4;  // rows that are read side by side
  const int64_t pitch = int8_row_bytes(D);
  Vector best = fill(-INFINITY);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t rows = count - i < kLanes ? count - i : kLanes;
    Vector totals[kLanes] = {};
    int64_t r = 0;
    for (; r + kGroup <= rows; r += kGroup)
      lane_scores<kGroup>(query, keys + (i + r) * pitch, D, totals + r);
    for (; r < rows; ++r) lane_scores<1>(query, keys + (i + r) * pitch, D, totals + r);
    store_part(scores + i, sum_each<kLanes>(totals), rows);
    best = larger(best, load_scores(scores + i, rows));
  }
  *most = largest(best);
}

template <int queries>
inline void weighted_sum(const float* weights, const int8_t* rows, int64_t count, int64_t D,
                         float* y) {
  static_assert(queries == 1);
  constexpr int kGroup = 4;  // sums that do not wait for one another
  const int64_t pitch = int8_row_bytes(D);
  for (int64_t b = 0; b < weight_blocks(D); ++b) {
    Vector sums[kGroup][kVectorsOfBlock] = {};
    const auto add = [&](int64_t i, Vector* sum) {
      const int8_t* row = rows + i * pitch;
      const float weight = weights[i] * scale_of(row, b, D);
      for (int v = 0; v < kVectorsOfBlock; ++v)
        sum[v] += weight * load(row + b * kWeightBlock + v * kLanes);
    };
    int64_t i = 0;
    for (; i + kGroup <= count; i += kGroup)
#pragma GCC unroll 4
      for (int64_t r = 0; r < kGroup; ++r) add(i + r, sums[r]);
    for (; i < count; ++i) add(i, sums[0]);
    for (int v = 0; v < kVectorsOfBlock; ++v) {
      const int64_t d = b * kWeightBlock + v * kLanes;
      if (d < D) store_part(y + d, sums[0][v] + sums[1][v] + (sums[2][v] + sums[3][v]), D - d);
    }
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
