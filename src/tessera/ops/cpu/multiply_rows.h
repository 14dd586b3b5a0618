#pragma once

// Only for *.isa.cpp files: products of a few rows with a matrix that is read once.

#include "tessera/ops/cpu/dot_products.h"
#include "tessera/ops/cpu/row_products.h"

namespace tessera::ops::cpu::TESSERA_ISA {

/// Outputs [first, first + count) of `vectors` rows of x from row `r` on.
template <int vectors>
inline void multiply_columns(const RowProducts& f, int64_t r, int64_t first, int64_t count) {
  Vector y[vectors];
  dot_products<vectors>(f.x + r * f.inputs, f.weight + first * f.inputs, count, f.inputs,
                        /*ask_ahead=*/r == 0, y);
  for (int v = 0; v < vectors; ++v) {
    if (f.bias) y[v] += load_part(f.bias + first, count);
    store_part(f.y + (r + v) * f.outputs + first, y[v], count);
  }
}

/// Outputs [first, end) of all rows.
inline void multiply_rows(const RowProducts& f, int64_t first, int64_t end) {
  for (int64_t o = first; o < end; o += kRowsTogether) {
    const int64_t count = end - o < kRowsTogether ? end - o : kRowsTogether;
    int64_t r = 0;
    for (; r + kVectorsTogether <= f.rows; r += kVectorsTogether)
      multiply_columns<kVectorsTogether>(f, r, o, count);
    for (; r < f.rows; ++r) multiply_columns<1>(f, r, o, count);
  }
}

/// All outputs of all rows, on all threads.
void row_products(const RowProducts& f);

}  // namespace tessera::ops::cpu::TESSERA_ISA
