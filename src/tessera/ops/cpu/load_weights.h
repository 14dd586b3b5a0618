#pragma once

// Only for *.isa.cpp files: rows of weights of any type (ops/weights.h) as floats in registers.

#include <cstring>

#include "tessera/ops/number_formats.h"
#include "tessera/simd/vector.h"

namespace tessera::ops::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;

/// The scale of a block of a row in 8 bits that has so many blocks.
inline float scale_of(const int8_t* row, int64_t block, int64_t blocks) {
  uint16_t bits = 0;
  std::memcpy(&bits, row + blocks * kWeightBlock + 2 * block, sizeof bits);
  return __builtin_bit_cast(float, uint32_t{bits} << 16);
}

/// Weights c, c + 1, … of a row of so many columns, zeros behind the last.
template <typename Element>
inline Vector load_weights(const Element* row, int64_t c, int64_t columns) {
  return load_part(row + c, columns - c);
}
inline Vector load_weights(const int8_t* row, int64_t c, int64_t columns) {
  return load(row + c) * scale_of(row, c / kWeightBlock, weight_blocks(columns));
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
