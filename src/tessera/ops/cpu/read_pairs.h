#pragma once

// Only for *.isa.cpp files: the read of one head's pairs with one query or with several.

#include <cstring>

#include "tessera/ops/cpu/dot_products.h"
#include "tessera/ops/cpu/load_weights.h"
#include "tessera/simd/integer_vector.h"

namespace tessera::ops::cpu::TESSERA_ISA {

// Pairs in 8 bits (ops/weights.h). A query becomes whole numbers, too: 14 bits of each number, in
// two digits that are multiplied with the bytes of a key, exactly; these lose their sign by adding
// 128, as the instruction wants it. Softmax weights stay floats, and blocks of values become floats
// in registers.

constexpr int kBlocksOfVector = TESSERA_VECTOR_BYTES / kWeightBlock;
constexpr int kVectorsOfBlock = kWeightBlock / kLanes;
constexpr int32_t kDigit = 128, kMostUnits = kDigit * (kDigit / 2 - 1) + kDigit / 2 - 1;
constexpr uint8_t kSignOffset = 128;
constexpr int64_t kSplitTogether = 512;  // numbers of a query, which share a scale

/// kBlocksOfVector blocks of a row, or the last one and zeros.
template <bool last>
inline Bytes load_blocks(const int8_t* row, int64_t block) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(row + block * kWeightBlock);
#if TESSERA_VECTOR_BYTES == 64
  if constexpr (last) return load_half(bytes);
#endif
  return load_bytes(bytes);
}

inline Bytes load_digits(const int8_t* p) {
  return load_bytes(reinterpret_cast<const uint8_t*>(p));
}

/// For each lane of their products the scale of its block.
template <bool last>
inline Vector load_scales(const int8_t* row, int64_t block, int64_t blocks) {
  if constexpr (last || kBlocksOfVector == 1) return fill(scale_of(row, block, blocks));
  uint32_t both = 0;
  std::memcpy(&both, row + blocks * kWeightBlock + 2 * block, sizeof both);
  constexpr int32_t kLanesOfBlock = kWeightBlock / 4;
  const WordVector shift = lane_numbers() < kLanesOfBlock ? WordVector{} + 16 : WordVector{};
  return reinterpret_cast<Vector>(((WordVector{} + both) << shift) & 0xffff0000);
}

/// Some numbers of a query: x = scale (kDigit high + low), digits from -64 to 63.
struct SplitNumbers {
  int8_t high[kSplitTogether], low[kSplitTogether];
  int32_t offsets[kSplitTogether / 4];  // -kSignOffset times the sum of four whole numbers
  float scale;

  /// Of numbers that are not all finite the scale is NaN.
  void split(const float* x, int64_t count) {
    constexpr float kLeast = 1e-30f;  // smaller numbers are 0
    float most = kLeast, not_finite = 0;
    for (int64_t d = 0; d < count; ++d) {
      const float size = std::fabs(x[d]);
      most = size > most ? size : most;
      not_finite += 0 * x[d];
    }
    scale = most / kMostUnits + not_finite;
    const float per_unit = kMostUnits / most;
    const int64_t used = not_finite == 0 ? count : 0;
    int32_t whole[kSplitTogether];
    const int64_t end = round_up(count, TESSERA_VECTOR_BYTES);
    for (int64_t d = 0; d < end; ++d) {
      constexpr int32_t kPositive = kDigit * kDigit;  // so that conversion rounds down
      const float units = d < used ? x[d] * per_unit : 0;
      whole[d] = static_cast<int32_t>(units + (kPositive + 0.5f)) - kPositive;
      const int32_t digit = (whole[d] + kPositive + kDigit / 2) / kDigit - kDigit;
      high[d] = static_cast<int8_t>(digit);
      low[d] = static_cast<int8_t>(whole[d] - kDigit * digit);
    }
    for (int64_t d = 0; d < end; d += 4)
      offsets[d / 4] = -kSignOffset * (whole[d] + whole[d + 1] + whole[d + 2] + whole[d + 3]);
  }
};

/// sums [queries, rows] += blocks of queries times those of some rows, lane by lane. digits: how
/// many of a query's numbers come before them.
template <int queries, int rows, bool last>
inline void add_blocks(const SplitNumbers* query, int64_t digits, const int8_t* first_row,
                       int64_t block, int64_t blocks, Vector (*sums)[rows]) {
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
    const int8_t* row = first_row + r * blocks * (kWeightBlock + 2);
    fetch_ahead(row + block * kWeightBlock);
    const Bytes bytes = load_blocks<last>(row, block) ^ kSignOffset;
    const Vector scales = load_scales<last>(row, block, blocks);
#pragma GCC unroll 4
    for (int q = 0; q < queries; ++q) {
      const SplitNumbers& x = query[q];
      const Integers whole =
          add_products(Integers{}, bytes, load_digits(x.high + digits)) * kDigit +
          add_products(load_integers(x.offsets + digits / 4), bytes, load_digits(x.low + digits));
      sums[q][r] += __builtin_convertvector(whole, Vector) * scales;
    }
  }
}

/// totals [queries, kLanes], of which it fills `rows` columns: blocks [first, end) of queries times
/// those of some rows, lane by lane.
template <int queries, int rows>
inline void lane_scores(const SplitNumbers* query, const int8_t* first_row, int64_t first,
                        int64_t end, int64_t blocks, Vector* totals) {
  Vector sums[queries][rows] = {};
  int64_t b = first;
  for (; b + kBlocksOfVector <= end; b += kBlocksOfVector)
    add_blocks<queries, rows, false>(query, (b - first) * kWeightBlock, first_row, b, blocks, sums);
  if (b < end)
    add_blocks<queries, rows, true>(query, (b - first) * kWeightBlock, first_row, b, blocks, sums);
  for (int q = 0; q < queries; ++q)
    for (int r = 0; r < rows; ++r) totals[q * kLanes + r] = sums[q][r];
}

template <int queries>
inline void score(const float* query, const int8_t* keys, int64_t count, int64_t D, float* scores,
                  float* most) {
  constexpr int kGroup = 4;  // rows that are read side by side
  constexpr int64_t kBlocks = kSplitTogether / kWeightBlock;
  const int64_t pitch = int8_row_bytes(D), blocks = weight_blocks(D);
  Vector best[queries] = {};
  SplitNumbers split[queries];
  for (int64_t first = 0; first < blocks; first += kBlocks) {
    const int64_t end = smaller(first + kBlocks, blocks), d = first * kWeightBlock;
    for (int q = 0; q < queries; ++q)
      split[q].split(query + q * D + d, smaller(D - d, kSplitTogether));
    for (Vector& one : best) one = fill(-INFINITY);
    for (int64_t i = 0; i < count; i += kLanes) {
      const int64_t rows = smaller(count - i, kLanes);
      Vector totals[queries * kLanes];
      if (rows < kLanes) std::memset(totals, 0, sizeof totals);
      int64_t r = 0;
      for (; r + kGroup <= rows; r += kGroup)
        lane_scores<queries, kGroup>(split, keys + (i + r) * pitch, first, end, blocks, totals + r);
      for (; r < rows; ++r)
        lane_scores<queries, 1>(split, keys + (i + r) * pitch, first, end, blocks, totals + r);
      for (int q = 0; q < queries; ++q) {
        float* of_query = scores + q * count + i;
        Vector sums = sum_each<kLanes>(totals + q * kLanes) * split[q].scale;
        if (first > 0) sums += load_part(of_query, rows);
        store_part(of_query, sums, rows);
        best[q] = larger(best[q], load_scores(of_query, rows));
      }
    }
  }
  for (int q = 0; q < queries; ++q) most[q] = largest(best[q]);
}

/// y [queries, D], columns of `blocks` blocks from b on: sum_i weights_qi row i.
template <int queries, int blocks>
inline void add_block_columns(const float* weights, const int8_t* rows, int64_t count, int64_t D,
                              int64_t b, float* y) {
  constexpr int kGroup = 2;  // sums that do not wait for one another
  const int64_t pitch = int8_row_bytes(D);
  Vector sums[queries][kGroup][blocks][kVectorsOfBlock] = {};
  const auto add = [&](int64_t i, int64_t r) {
    const int8_t* row = rows + i * pitch;
    if (b == 0) fetch_ahead(row);
#pragma GCC unroll 2
    for (int64_t c = 0; c < blocks; ++c) {
      const float scale = scale_of(row, b + c, weight_blocks(D));
#pragma GCC unroll 4
      for (int v = 0; v < kVectorsOfBlock; ++v) {
        const Vector part = load(row + (b + c) * kWeightBlock + v * kLanes);
#pragma GCC unroll 4
        for (int q = 0; q < queries; ++q)
          sums[q][r][c][v] += (weights[q * count + i] * scale) * part;
      }
    }
  };
  int64_t i = 0;
  for (; i + 2 * kGroup <= count; i += 2 * kGroup)
#pragma GCC unroll 4
    for (int64_t r = 0; r < 2 * kGroup; ++r) add(i + r, r % kGroup);
  for (; i < count; ++i) add(i, 0);
  for (int q = 0; q < queries; ++q)
    for (int64_t c = 0; c < blocks; ++c)
      for (int v = 0; v < kVectorsOfBlock; ++v) {
        const int64_t d = (b + c) * kWeightBlock + v * kLanes;
        if (d < D) store_part(y + q * D + d, sums[q][0][c][v] + sums[q][1][c][v], D - d);
      }
}

template <int queries>
inline void weighted_sum(const float* weights, const int8_t* rows, int64_t count, int64_t D,
                         float* y) {
  constexpr int kTogether = queries == 1 && kVectorsOfBlock == 2 ? 2 : 1;  // as registers allow
  const int64_t blocks = weight_blocks(D);
  int64_t b = 0;
  for (; b + kTogether <= blocks; b += kTogether)
    add_block_columns<queries, kTogether>(weights, rows, count, D, b, y);
  for (; b < blocks; ++b) add_block_columns<queries, 1>(weights, rows, count, D, b, y);
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
    const int64_t rows = smaller(count - i, kRowsTogether);
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
      fetch_ahead(rows + i * D + v * kLanes);
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
  constexpr int kMost = kLanes < 16 ? 1 : sizeof(Element) == 1 ? 4 : 2;  // as registers allow
  constexpr int kSummed = queries % kMost == 0 ? kMost : 1;
  float most[queries];
  if (count > 0) {
    score<queries>(query, keys, count, D, weights, most);
    for (int q = 0; q < queries; ++q) softmax(weights + q * count, count, most[q]);
  }
  for (int q = 0; q < queries; q += kSummed)
    weighted_sum<kSummed>(weights + q * count, values, count, D, y + q * D);
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
