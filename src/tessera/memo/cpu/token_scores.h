#pragma once

#include <cstdint>

#include "tessera/memo/cpu/loop.h"

namespace tessera::memo::cpu {

// Scores of all tokens as the next one: by the table of codes of the paper code, and by the masks
// of the bound code.

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

/// For every value v [width] and every block b of tokens, scores = scale H u_b, where u_b [block]
/// is the sum over the width / block parts of mask_b o v, and H the Hadamard matrix of that order.
/// Sums of whole numbers up to 2^24 are exact; beyond, they are the same bits on every instruction
/// set.
struct HadamardScores {
  int64_t count = 0, width = 0;
  int64_t block = 0;                ///< tokens; a power of two, at least 64, that divides width
  int64_t tokens = 0;               ///< V
  const float* values = nullptr;    ///< [count, width]
  const uint64_t* masks = nullptr;  ///< [ceil(tokens / block), width / 64], a set bit means -1
  float scale = 1;
  float* const* scores = nullptr;  ///< a row [tokens] for every value
};
TESSERA_INTEGER_LOOP(hadamard_scores, HadamardScores);

}  // namespace tessera::memo::cpu
