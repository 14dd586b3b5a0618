#pragma once

#include <cstdint>

#include "tessera/ops/cpu/loop.h"
#include "tessera/ops/cpu/tensor_views.h"

namespace tessera::ops::cpu {

/// Columns of weights that digit_products can multiply are a multiple of this.
constexpr int64_t kDigitColumns = 32;

/// Products of many vectors with weights in bfloat16, on AMX's tile unit, which multiplies such
/// numbers alone: a float is the sum of three of them, its digits, so that no product is rounded.
/// Sums are floats. On OpenMP's threads.
TESSERA_X86(TESSERA_BUILD(amx, digit_products, Products))
inline constexpr simd::Loop<Products, 0 TESSERA_X86(+1)> digit_products = {
    TESSERA_X86({{simd::InstructionSet::kAmx, amx::digit_products}})};

}  // namespace tessera::ops::cpu
