#pragma once

#include <cstdint>

#include "tessera/memo/cpu/loop.h"

namespace tessera::memo::cpu {

/// Rows of numbers from -7 to 7, two to a byte: byte b of a row's group g of 64 has number
/// 128 g + b + 8 in its low half and 128 g + 64 + b + 8 in its high half.
constexpr int64_t kNibbleGroup = 128;  ///< numbers
constexpr int kNibbleShift = 8;

/// products [queries, rows] = scales o (queries [queries, width] times the table [rows, width],
/// transposed).
struct NibbleProducts {
  int64_t queries = 0, rows = 0;
  int64_t width = 0;                 ///< a multiple of kNibbleGroup
  const int8_t* numbers = nullptr;   ///< the queries
  const int32_t* sums = nullptr;     ///< [queries], of each query's numbers
  const float* scales = nullptr;     ///< [queries]
  const uint8_t* table = nullptr;    ///< [rows, width / 2]
  float* const* products = nullptr;  ///< a row [rows] for every query
};
TESSERA_INTEGER_LOOP(nibble_products, NibbleProducts);

}  // namespace tessera::memo::cpu
