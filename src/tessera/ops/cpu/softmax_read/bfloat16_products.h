#pragma once

// Only for *.isa.cpp files: the matrix products of a softmax read with bfloat16 operands and float
// sums. The names are those of float_products.h. Everything is padded with zeros to blocks of
// 32 x 32 for block_product().

#include <immintrin.h>

#include "tessera/ops/cpu/bfloat16/bfloat16_block.h"
#include "tessera/ops/cpu/softmax_read/read_tile.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {

constexpr int64_t kQueryBlock = 64;
constexpr int64_t kPairBlock = 256;
constexpr int64_t kTileStride = kPairBlock + 16;
constexpr int64_t kPairPadding = kBlock;
constexpr int64_t kRoundedStride = kPairBlock + 32;

inline int64_t padded_width(int64_t D) {
  return round_up(D, kBlock);
}

/// `count` zeros.
inline BFloat16* rounded_operands(simd::Scratch& scratch, int64_t count) {
  return reinterpret_cast<BFloat16*>(scratch.zeros(count / 2 + 1));
}

/// Columns 0 … 15 of two rows, side by side: one row of a right tile.
inline __m512i interleave_rounded(Vector even, Vector odd) {
  alignas(64) static constexpr uint16_t kOrder[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                      21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                      11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(_mm512_load_si512(kOrder), round_floats(even, odd));
}

/// Elements d … d + 31 of a row of D, zeros behind the last, as 16 pairs.
template <typename Element>
inline Vector load_rounded(const Element* row, int64_t d, int64_t D, float scale) {
  const Vector first = load_weights(row, d, D);
  const Vector second = d + kLanes < D ? load_weights(row, d + kLanes, D) : Vector{};
  return reinterpret_cast<Vector>(round_floats(first * scale, second * scale));
}

/// e^x of a score, of which a weight is made: relative error below 2e-4, a tenth of what a weight
/// loses in being rounded; 0 for minus infinity.
inline Vector exponential_of_score(Vector x) {
  constexpr __mmask16 kAll = 0xffff;
  constexpr int kFraction = 0x09;  // what lies above the next lower whole number
  const auto y = reinterpret_cast<__m512>(x * 1.44269504f);
  const auto f = reinterpret_cast<Vector>(_mm512_maskz_reduce_ps(kAll, y, kFraction));
  const Vector power = ((f * 0.07826797f + 0.22630768f) * f + 0.69542435f) * f + 1.0f;  // 2^f
  return reinterpret_cast<Vector>(_mm512_maskz_scalef_ps(kAll, reinterpret_cast<__m512>(power), y));
}

struct QueryRows {
  BFloat16* rows;     // left: [kQueryBlock, width]
  BFloat16* columns;  // left, transposed: [width, kQueryBlock]

  QueryRows(simd::Scratch& scratch, int64_t D)
      : rows(rounded_operands(scratch, kQueryBlock * padded_width(D))),
        columns(rounded_operands(scratch, kQueryBlock * padded_width(D))) {}
  void pack(const Sequence& source, const Tile& tile, float scale) {
    const int64_t D = tile.read.D, width = padded_width(D);
    for (int64_t r = 0; r < kQueryBlock; r += 16)
      for (int64_t d = 0; d < D; d += 32) {
        Vector block[16];
        for (int64_t k = 0; k < 16; ++k) {
          const int64_t row = r + k;
          block[k] =
              row < tile.rows
                  ? load_rounded(source.row(tile.b, tile.first_query + row, tile.h), d, D, scale)
                  : Vector{};
          store_rounded(rows + row * width + d, block[k]);
        }
        transpose(block);
        for (int64_t k = 0; k < 16; ++k) pack_columns(d + 2 * k, r, block[k]);
      }
  }

 private:
  /// pairs: columns d (lower halves) and d + 1 of 16 rows.
  void pack_columns(int64_t d, int64_t r, Vector pairs) {
    BFloat16* column = columns + d * kQueryBlock + r;
    store_lower_halves(column, pairs);
    store_lower_halves(column + kQueryBlock,
                       reinterpret_cast<Vector>(reinterpret_cast<WordVector>(pairs) >> 16));
  }
  static void store_lower_halves(BFloat16* p, Vector pairs) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(pairs)));
  }
};

/// right: depth D, one column of tiles per 16 pairs.
struct PairPanels {
  BFloat16* panels;

  PairPanels(simd::Scratch& scratch, int64_t N, int64_t D)
      : panels(rounded_operands(scratch, round_up(N, kBlock) * padded_width(D))) {}
  template <typename Element>
  void pack(const WeightSequence& source, int64_t b, int64_t h, int64_t N, int64_t D) {
    for (int64_t i = 0; i < N; i += 16)
      for (int64_t d = 0; d < D; d += 32) {
        Vector block[16];
        for (int64_t k = 0; k < 16; ++k)
          block[k] = i + k < N ? load_rounded(source.row<Element>(b, i + k, h), d, D, 1) : Vector{};
        transpose(block);
        BFloat16* tile = panels + i * padded_width(D) + d * 16;
        for (int64_t k = 0; k < 16; ++k) store_rounded(tile + k * 32, block[k]);
      }
  }
};

/// right: depth N, one column of tiles per 16 of D.
struct PairRows {
  BFloat16* panels;
  int64_t stride;  // between columns of tiles

  PairRows(simd::Scratch& scratch, int64_t N, int64_t D)
      : panels(rounded_operands(scratch, round_up(N, kBlock) * padded_width(D))),
        stride(round_up(N, kBlock) * 16) {}
  template <typename Element>
  void pack(const WeightSequence& source, int64_t b, int64_t h, int64_t N, int64_t D) {
    for (int64_t i = 0; i < N; i += 2)
      for (int64_t d = 0; d < D; d += 16) {
        const Vector even = load_weights(source.row<Element>(b, i, h), d, D);
        const Vector odd =
            i + 1 < N ? load_weights(source.row<Element>(b, i + 1, h), d, D) : Vector{};
        _mm512_storeu_si512(panels + d / 16 * stride + i / 2 * 32, interleave_rounded(even, odd));
      }
  }
};

struct PairGradient {
  float* columns;  // [width, stride]
  int64_t N, D, stride;

  PairGradient(simd::Scratch& scratch, int64_t N_, int64_t D_)
      : N(N_), D(D_), stride(round_up(N_, kBlock) + 16) {
    columns = scratch.floats(padded_width(D) * stride);
  }
  void clear() {
    for (int64_t k = 0; k < padded_width(D) * stride; ++k) columns[k] = 0;
  }
  void unpack(const Sequence& target, int64_t group, int64_t h) const {
    for (int64_t i = 0; i < N; i += 16)
      for (int64_t d = 0; d < D; d += 16) {
        Vector block[16];
        for (int64_t k = 0; k < 16; ++k) block[k] = load(columns + (d + k) * stride + i);
        transpose(block);
        for (int64_t k = 0; k < smaller(16, N - i); ++k)
          store_part(target.row(group, i + k, h) + d, block[k], D - d);
      }
  }
};

struct WeightTile {
  float* elements;   // [kQueryBlock, kTileStride]
  BFloat16* rows;    // left: [kQueryBlock, kRoundedStride]
  BFloat16* panels;  // right: depth kQueryBlock, one column of tiles per 16 pairs
  static constexpr int64_t kPanelStride = kQueryBlock * 16;

  explicit WeightTile(simd::Scratch& scratch)
      : elements(scratch.zeros(kQueryBlock * kTileStride)),
        rows(rounded_operands(scratch, kQueryBlock * kRoundedStride)),
        panels(rounded_operands(scratch, kQueryBlock * kPairBlock)) {}
  float* row(int64_t r) const { return elements + r * kTileStride; }
  void set_weights(int64_t r, int64_t j, Vector weights) const {
    const __m256bh rounded = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(weights));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows + r * kRoundedStride + j),
                        reinterpret_cast<__m256i>(rounded));
  }
  void to_sum_pairs(const Tile& tile) const {
    for (int64_t r = 0; r < tile.rows; ++r)
      for (int64_t j = 0; j < tile.pairs; j += 32)
        _mm512_storeu_si512(rows + r * kRoundedStride + j,
                            round_floats(load(row(r) + j), load(row(r) + j + 16)));
  }
  void to_sum_queries(const Tile& tile) const {
    for (int64_t r = 0; r < tile.rows; r += 2)
      for (int64_t j = 0; j < round_up(tile.pairs, kBlock); j += 16)
        _mm512_storeu_si512(panels + j / 16 * kPanelStride + r / 2 * 32,
                            interleave_rounded(load(row(r) + j), load(row(r + 1) + j)));
  }
};

inline void score(const Tile& tile, const QueryRows& queries, const PairPanels& pairs,
                  const WeightTile& scores) {
  const int64_t width = padded_width(tile.read.D);
  for (int64_t j = 0; j < tile.pairs; j += kBlock)
    for (int64_t r = tile.first_reader(j) / kBlock * kBlock; r < tile.rows; r += kBlock)
      block_product<false>(width / kBlock, queries.rows + r * width, width,
                           pairs.panels + (tile.first_pair + j) * width, 16 * width,
                           scores.row(r) + j, kTileStride);
}

inline void add_weighted_pairs(const Tile& tile, const WeightTile& weights, const PairRows& pairs,
                               float* result) {
  const int64_t width = padded_width(tile.read.D);
  for (int64_t r = 0; r < tile.rows; r += kBlock) {
    const int64_t depth = tile.visible(smaller(tile.rows, r + kBlock) - 1);
    for (int64_t d = 0; d < width; d += kBlock)
      block_product<true>(round_up(depth, kBlock) / kBlock, weights.rows + r * kRoundedStride,
                          kRoundedStride,
                          pairs.panels + d / 16 * pairs.stride + tile.first_pair * 16, pairs.stride,
                          result + r * width + d, width);
  }
}

inline void add_weighted_queries(const Tile& tile, const WeightTile& weights,
                                 const QueryRows& queries, PairGradient& gradient) {
  const int64_t width = padded_width(tile.read.D);
  const int64_t steps = round_up(tile.rows, kBlock) / kBlock;
  for (int64_t j = 0; j < tile.pairs; j += kBlock) {
    const int64_t step = tile.first_reader(j) / kBlock;
    for (int64_t d = 0; d < width; d += kBlock)
      block_product<true>(
          steps - step, queries.columns + d * kQueryBlock + step * kBlock, kQueryBlock,
          weights.panels + j / 16 * WeightTile::kPanelStride + step * kRightTile,
          WeightTile::kPanelStride, gradient.columns + d * gradient.stride + tile.first_pair + j,
          gradient.stride);
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
