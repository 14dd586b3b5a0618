#pragma once

#include <cstdint>

#include "tessera/ops/cpu/loop.h"
#include "tessera/ops/cpu/tensor_views.h"

/// Declares a loop that is also built for AVX-512 with products of bytes and for AMX.
#define TESSERA_INT8_LOOP(name, Arguments)                                                        \
  TESSERA_X86(TESSERA_BUILD(avx2, name, Arguments) TESSERA_BUILD(avx512, name, Arguments)         \
                  TESSERA_BUILD(avx512vnni, name, Arguments) TESSERA_BUILD(amx, name, Arguments)) \
  inline constexpr simd::Loop<Arguments, 0 TESSERA_X86(+4)> name = {                              \
      TESSERA_X86({{simd::InstructionSet::kAvx2, avx2::name},                                     \
                   {simd::InstructionSet::kAvx512, avx512::name},                                 \
                   {simd::InstructionSet::kAvx512Vnni, avx512vnni::name},                         \
                   {simd::InstructionSet::kAmx, amx::name}})}

namespace tessera::ops::cpu {

/// Vectors x [rows, length] of floats to nearest; a block's scale is its largest magnitude / 127.
/// On this thread.
struct Int8Rounding {
  const float* x = nullptr;
  Int8Vectors rounded;
};
TESSERA_INT8_LOOP(round_vectors, Int8Rounding);

/// Weights of 8 bits, [rows, int8_row_bytes(columns)], as floats [rows, columns]. On OpenMP's
/// threads.
struct Int8Widening {
  int64_t rows = 0, columns = 0;
  const int8_t* weight = nullptr;
  float* floats = nullptr;
};
TESSERA_INT8_LOOP(widen_weights, Int8Widening);

// Products with weights of 8 bits and vectors in whole numbers: sums of a block in 32 bits, and
// those of blocks, times both scales, in float.

/// All outputs of at least 16 vectors, which are rounded first; on OpenMP's threads.
TESSERA_INT8_LOOP(multiply_many, Products);

/// Outputs [first, end) of rounded vectors, on this thread: for so few that reading the weights is
/// all the time that it takes.
struct SomeProducts {
  Products products;
  int64_t first = 0, end = 0;
};
TESSERA_INT8_LOOP(multiply_few, SomeProducts);

}  // namespace tessera::ops::cpu
