#pragma once

#include <cstdint>

#include "tessera/ops/cpu/loop.h"
#include "tessera/ops/cpu/tensor_views.h"

namespace tessera::ops::cpu {

/// Columns of weights that digit_products can multiply are a multiple of this.
constexpr int64_t kDigitColumns = 32;

/// y_r = weight x_r + bias for many vectors x_r and weights in bfloat16, on AMX's tile unit, which
/// multiplies such numbers alone: a float is the sum of three of them, its digits, so that no
/// product is rounded. Sums are floats. On OpenMP's threads.
struct DigitProducts {
  int64_t rows = 0, inputs = 0, outputs = 0;
  const float* x = nullptr;          // [rows, inputs]
  const BFloat16* weight = nullptr;  // [outputs, inputs]
  const float* bias = nullptr;       // [outputs] or null
  float* y = nullptr;                // [rows, outputs]
};
TESSERA_X86(TESSERA_BUILD(amx, digit_products, DigitProducts))
inline constexpr simd::Loop<DigitProducts, 0 TESSERA_X86(+1)> digit_products = {
    TESSERA_X86({{simd::InstructionSet::kAmx, amx::digit_products}})};

}  // namespace tessera::ops::cpu
