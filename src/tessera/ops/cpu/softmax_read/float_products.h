#pragma once

// Only for *.isa.cpp files: the matrix products of a softmax read, in float. bfloat16_products.h
// has the same names for bfloat16 operands.

#include "tessera/ops/cpu/softmax_read/read_tile.h"
#include "tessera/ops/cpu/softmax_read/small_product.h"
#include "tessera/simd/scratch.h"

namespace tessera::ops::cpu::TESSERA_ISA {

constexpr int64_t kQueryBlock = 48;
constexpr int64_t kPairBlock = 256;
constexpr int64_t kTileStride = kPairBlock + 16;
/// The softmax leaves zeros in a tile up to a multiple of this many pairs.
constexpr int64_t kPairPadding = kLanes;
/// On the diagonal, rows are taken in slices, each with a depth of its own.
constexpr int64_t kSlice = 12;

inline int64_t padded_width(int64_t D) {
  return round_up(D, kLanes);
}

/// Nothing to set up: floats are multiplied by ordinary instructions.
struct ProductUnit {
  ProductUnit() {}
};

/// `count` rows of one head, packed [count, width] with zeros beyond D.
inline void pack_rows(const Sequence& source, int64_t b, int64_t first, int64_t h, int64_t count,
                      int64_t D, float scale, float* packed) {
  const int64_t width = padded_width(D);
  for (int64_t r = 0; r < count; ++r) {
    const float* from = source.row(b, first + r, h);
    float* to = packed + r * width;
    for (int64_t d = 0; d < D; ++d) to[d] = scale * from[d];
    for (int64_t d = D; d < width; ++d) to[d] = 0;
  }
}

/// A block of queries, or of gradients that came back to them.
struct QueryRows {
  float* rows;

  QueryRows(simd::Scratch& scratch, int64_t D)
      : rows(scratch.floats(kQueryBlock * padded_width(D))) {}
  void pack(const Sequence& source, const Tile& tile, float scale) {
    pack_rows(source, tile.b, tile.first_query, tile.h, tile.rows, tile.read.D, scale, rows);
  }
};

/// Keys or values of one head, to be multiplied with queries: [N / kPanel][D][kPanel].
struct PairPanels {
  float* panels;

  PairPanels(simd::Scratch& scratch, int64_t N, int64_t D)
      : panels(scratch.floats(round_up(N, kPanel) * D)) {}
  void pack(const Sequence& source, int64_t b, int64_t h, int64_t N, int64_t D) {
    for (int64_t i = 0; i < round_up(N, kPanel); i += kLanes)
      for (int64_t d = 0; d < D; d += kLanes) {
        Vector block[kLanes];
        for (int64_t k = 0; k < kLanes; ++k)
          block[k] = i + k < N ? load_part(source.row(b, i + k, h) + d, D - d) : Vector{};
        transpose(block);
        float* columns = panels + i / kPanel * kPanel * D + d * kPanel + i % kPanel;
        for (int64_t k = 0; k < lesser(kLanes, D - d); ++k) store(columns + k * kPanel, block[k]);
      }
  }
};

/// Keys or values of one head, to be summed: [N, width].
struct PairRows {
  float* rows;

  PairRows(simd::Scratch& scratch, int64_t N, int64_t D)
      : rows(scratch.floats(N * padded_width(D))) {}
  void pack(const Sequence& source, int64_t b, int64_t h, int64_t N, int64_t D) {
    pack_rows(source, b, 0, h, N, D, 1, rows);
  }
};

/// Gradients of the keys or values of one head.
struct PairGradient {
  float* rows;  // [N, width]
  int64_t N, D;

  PairGradient(simd::Scratch& scratch, int64_t N_, int64_t D_)
      : rows(scratch.floats(N_ * padded_width(D_))), N(N_), D(D_) {}
  void clear() {
    for (int64_t k = 0; k < N * padded_width(D); ++k) rows[k] = 0;
  }
  void unpack(const Sequence& target, int64_t group, int64_t h) const {
    for (int64_t i = 0; i < N; ++i)
      for (int64_t d = 0; d < D; ++d) target.row(group, i, h)[d] = rows[i * padded_width(D) + d];
  }
};

/// Scores, weights or their gradients: one number per query and pair of a tile.
struct WeightTile {
  float* elements;  // [kQueryBlock, kTileStride]

  explicit WeightTile(simd::Scratch& scratch)
      : elements(scratch.floats(kQueryBlock * kTileStride)) {}
  float* row(int64_t r) const { return elements + r * kTileStride; }
  /// To be called between filling the rows and summing with them.
  void finish(const Tile&) const {}
};

/// scores = queries pairs^T, but for elements that no row of a panel reads.
inline void score(const Tile& tile, const QueryRows& queries, const PairPanels& pairs,
                  const WeightTile& scores) {
  const int64_t D = tile.read.D, width = padded_width(D);
  for (int64_t j = 0; j < tile.pairs; j += kPanel) {
    const int64_t row = tile.first_reader(j);
    const int64_t columns = lesser(kPanel, round_up(tile.pairs - j, kLanes));
    product<false>(tile.rows - row, columns, D, {queries.rows + row * width, width, 1},
                   pairs.panels + (tile.first_pair + j) * D, kPanel, scores.row(row) + j,
                   kTileStride);
  }
}

/// result [rows, width] += weights pairs.
inline void add_weighted_pairs(const Tile& tile, const WeightTile& weights, const PairRows& pairs,
                               float* result) {
  const int64_t width = padded_width(tile.read.D);
  const int64_t slice = tile.on_diagonal() ? kSlice : tile.rows;
  for (int64_t r = 0; r < tile.rows; r += slice) {
    const int64_t count = lesser(slice, tile.rows - r);
    product<true>(count, width, tile.visible(r + count - 1), {weights.row(r), kTileStride, 1},
                  pairs.rows + tile.first_pair * width, width, result + r * width, width);
  }
}

/// gradient += weights^T queries.
inline void add_weighted_queries(const Tile& tile, const WeightTile& weights,
                                 const QueryRows& queries, PairGradient& gradient) {
  const int64_t width = padded_width(tile.read.D);
  const int64_t slice = tile.on_diagonal() ? kSlice : tile.pairs;
  for (int64_t j = 0; j < tile.pairs; j += slice) {
    const int64_t row = tile.first_reader(j);
    product<true>(lesser(slice, tile.pairs - j), width, tile.rows - row,
                  {weights.row(row) + j, 1, kTileStride}, queries.rows + row * width, width,
                  gradient.rows + (tile.first_pair + j) * width, width);
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
