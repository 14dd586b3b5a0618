#pragma once

// Only for *.isa.cpp files: the matrix products of a softmax read, in float. bfloat16_products.h
// has the same names for bfloat16 operands.

#include "tessera/ops/cpu/softmax_read/read_tile.h"
#include "tessera/simd/threads.h"
#include "tessera/simd/vector.h"

namespace tessera::ops::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;

// Products of operands that are packed and lie in the cache.

/// Columns that one pass over the depth computes, and the width of a packed panel of columns.
constexpr int kVectorsPerPanel = TESSERA_VECTOR_BYTES == 64 ? 4 : 2;
constexpr int64_t kPanel = kVectorsPerPanel * kLanes;

/// Element (row, step) of the left operand lies at data[row * row_stride + step * step_stride]: a
/// matrix or, with the strides exchanged, its transpose.
struct Left {
  const float* data;
  int64_t row_stride;
  int64_t step_stride;

  Left from(int64_t row, int64_t step) const {
    return {data + row * row_stride + step * step_stride, row_stride, step_stride};
  }
};

/// c [rows, vectors * kLanes] = or += left [rows, depth] * right [depth, vectors * kLanes], with
/// all of c in registers. right and c are row-major with the given strides.
template <int rows, int vectors, bool add>
inline void product_in_registers(int64_t depth, Left left, const float* right, int64_t right_stride,
                                 float* c, int64_t c_stride) {
  Vector total[rows][vectors];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j)
      total[i][j] = add ? load(c + i * c_stride + j * kLanes) : Vector{};
  for (int64_t step = 0; step < depth; ++step) {
    Vector b[vectors];
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) b[j] = load(right + step * right_stride + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const Vector a = fill(left.data[i * left.row_stride + step * left.step_stride]);
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) total[i][j] += a * b[j];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j) store(c + i * c_stride + j * kLanes, total[i][j]);
}

/// Rows that fill the registers beside `vectors` columns.
constexpr int rows_in_registers(int vectors) {
  return TESSERA_VECTOR_BYTES == 64 ? (vectors == 4 ? 6 : vectors == 3 ? 8 : 12) : 6;
}

/// The last rows, fewer than the registers hold.
template <int rows, int vectors, bool add>
inline void product_of_rest(int64_t rest, int64_t depth, Left left, const float* right,
                            int64_t right_stride, float* c, int64_t c_stride) {
  if constexpr (rows > 0) {
    if (rest == rows)
      product_in_registers<rows, vectors, add>(depth, left, right, right_stride, c, c_stride);
    else
      product_of_rest<rows - 1, vectors, add>(rest, depth, left, right, right_stride, c, c_stride);
  }
}

template <int vectors, bool add>
void product_of_columns(int64_t rows, int64_t depth, Left left, const float* right,
                        int64_t right_stride, float* c, int64_t c_stride) {
  constexpr int kRows = rows_in_registers(vectors);
  int64_t row = 0;
  for (; row + kRows <= rows; row += kRows)
    product_in_registers<kRows, vectors, add>(depth, left.from(row, 0), right, right_stride,
                                              c + row * c_stride, c_stride);
  product_of_rest<kRows - 1, vectors, add>(rows - row, depth, left.from(row, 0), right,
                                           right_stride, c + row * c_stride, c_stride);
}

/// c [rows, columns] = or += left [rows, depth] * right [depth, columns]; columns a multiple of
/// kLanes.
template <bool add>
void product(int64_t rows, int64_t columns, int64_t depth, Left left, const float* right,
             int64_t right_stride, float* c, int64_t c_stride) {
  int64_t column = 0;
  for (; column + kPanel <= columns; column += kPanel)
    product_of_columns<kVectorsPerPanel, add>(rows, depth, left, right + column, right_stride,
                                              c + column, c_stride);
  const int64_t rest = (columns - column) / kLanes;
  if constexpr (kVectorsPerPanel > 3) {
    if (rest == 3)
      product_of_columns<3, add>(rows, depth, left, right + column, right_stride, c + column,
                                 c_stride);
    if (rest == 2)
      product_of_columns<2, add>(rows, depth, left, right + column, right_stride, c + column,
                                 c_stride);
  }
  if (rest == 1)
    product_of_columns<1, add>(rows, depth, left, right + column, right_stride, c + column,
                               c_stride);
}

// The read.

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

/// e^x of a score, of which a weight is made.
inline Vector exponential_of_score(Vector x) {
  return exponential(x);
}

/// Nothing to set up: floats are multiplied by ordinary instructions.
struct ProductUnit {
  ProductUnit() {}
};

/// A block of queries, or of gradients that came back to them.
struct QueryRows {
  float* rows;

  QueryRows(simd::Scratch& scratch, int64_t D)
      : rows(scratch.floats(kQueryBlock * padded_width(D))) {}
  void pack(const Sequence& source, const Tile& tile, float scale) {
    const int64_t D = tile.read.D, width = padded_width(D);
    for (int64_t r = 0; r < tile.rows; ++r) {
      const float* from = source.row(tile.b, tile.first_query + r, tile.h);
      for (int64_t d = 0; d < width; d += kLanes)
        store(rows + r * width + d, scale * load_part(from + d, D - d));
    }
  }
};

/// Keys or values of one head, to be multiplied with queries: [N / kPanel][D][kPanel].
struct PairPanels {
  float* panels;

  PairPanels(simd::Scratch& scratch, int64_t N, int64_t D)
      : panels(scratch.floats(round_up(N, kPanel) * D)) {}
  template <typename Element>
  void pack(const WeightSequence& source, int64_t b, int64_t h, int64_t N, int64_t D) {
    for (int64_t i = 0; i < round_up(N, kPanel); i += kLanes)
      for (int64_t d = 0; d < D; d += kLanes) {
        Vector block[kLanes];
        for (int64_t k = 0; k < kLanes; ++k)
          block[k] = i + k < N ? load_weights(source.row<Element>(b, i + k, h), d, D) : Vector{};
        transpose(block);
        float* columns = panels + i / kPanel * kPanel * D + d * kPanel + i % kPanel;
        for (int64_t k = 0; k < smaller(kLanes, D - d); ++k) store(columns + k * kPanel, block[k]);
      }
  }
};

/// Keys or values of one head, to be summed: [N, width].
struct PairRows {
  float* rows;

  PairRows(simd::Scratch& scratch, int64_t N, int64_t D)
      : rows(scratch.floats(N * padded_width(D))) {}
  template <typename Element>
  void pack(const WeightSequence& source, int64_t b, int64_t h, int64_t N, int64_t D) {
    const int64_t width = padded_width(D);
    for (int64_t i = 0; i < N; ++i)
      for (int64_t d = 0; d < width; d += kLanes)
        store(rows + i * width + d, load_weights(source.row<Element>(b, i, h), d, D));
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
  /// Weights of row r where add_weighted_pairs() reads them.
  void set_weights(int64_t r, int64_t j, Vector weights) const { store(row(r) + j, weights); }
  /// To be called between filling the rows and add_weighted_pairs(), or add_weighted_queries().
  void to_sum_pairs(const Tile&) const {}
  void to_sum_queries(const Tile&) const {}
};

/// scores = queries pairs^T, but for elements that no row of a panel reads.
inline void score(const Tile& tile, const QueryRows& queries, const PairPanels& pairs,
                  const WeightTile& scores) {
  const int64_t D = tile.read.D, width = padded_width(D);
  for (int64_t j = 0; j < tile.pairs; j += kPanel) {
    const int64_t row = tile.first_reader(j);
    const int64_t columns = smaller(kPanel, round_up(tile.pairs - j, kLanes));
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
    const int64_t count = smaller(slice, tile.rows - r);
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
    product<true>(smaller(slice, tile.pairs - j), width, tile.rows - row,
                  {weights.row(row) + j, 1, kTileStride}, queries.rows + row * width, width,
                  gradient.rows + (tile.first_pair + j) * width, width);
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
