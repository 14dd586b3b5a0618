#pragma once

// Only for *.isa.cpp files: the sizes of what is multiplied at a time in bfloat16.

#include "tessera/ops/cpu/weight_rows.h"

namespace tessera::ops::cpu::TESSERA_ISA {

constexpr int64_t kBlock = 32;
constexpr int64_t kRightTile = 512;  // operands of a right tile

}  // namespace tessera::ops::cpu::TESSERA_ISA
