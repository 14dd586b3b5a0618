#pragma once

#include <cstdint>

#include "tessera/simd/instruction_set.h"

namespace tessera::theory::cpu {

constexpr int kRowBits = 24;  // of the number of a Philox block; the others say which row

/// What GaussianField::fill() writes.
struct GaussianRows {
  uint64_t seed = 0, stream = 0;
  int64_t first_row = 0, rows = 0, first_column = 0, columns = 0;
  float* out = nullptr;  ///< [rows, stride]
  int64_t stride = 0;
};
TESSERA_SERIAL_LOOP(fill_gaussian_rows, GaussianRows);

}  // namespace tessera::theory::cpu
