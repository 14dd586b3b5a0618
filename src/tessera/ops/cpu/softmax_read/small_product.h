#pragma once

// Only for *.isa.cpp files. Matrix products whose operands are packed and lie in the cache.

#include "tessera/simd/vector.h"

namespace tessera::ops::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;

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

}  // namespace tessera::ops::cpu::TESSERA_ISA
