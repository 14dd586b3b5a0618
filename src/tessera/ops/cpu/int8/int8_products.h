#pragma once

#include <cstdint>

#include "tessera/ops/cpu/loop.h"
#include "tessera/ops/number_formats.h"

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

/// Vectors in whole numbers from -127 to 127 with a scale for every kWeightBlock of them: what
/// weights of 8 bits are multiplied with.
struct Int8Vectors {
  int64_t rows = 0, length = 0;  // of floats
  int8_t* values = nullptr;      // [rows, blocks, kWeightBlock], zeros behind the length
  float* scales = nullptr;       // [rows, blocks]

  int64_t blocks() const { return weight_blocks(length); }
  /// Floats of memory for both, values first.
  int64_t size() const { return rows * blocks() * (kWeightBlock / 4 + 1); }
  void lie_in(float* memory) {
    values = reinterpret_cast<int8_t*>(memory);
    scales = memory + rows * blocks() * (kWeightBlock / 4);
  }
};

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

/// y_r = weight x_r + bias for vectors x_r in whole numbers: sums of a block in 32 bits, and those
/// of blocks, times both scales, in float.
struct Int8Products {
  Int8Vectors x;
  const int8_t* weight = nullptr;  // [outputs, int8_row_bytes(x.length)]
  const float* bias = nullptr;     // [outputs] or null
  int64_t outputs = 0;
  float* y = nullptr;  // [x.rows, outputs]
};

/// All outputs of at least 16 vectors, which are rounded first; on OpenMP's threads.
struct ManyInt8Products {
  const float* x = nullptr;  // [products.x.rows, products.x.length]
  Int8Products products;
};
TESSERA_INT8_LOOP(multiply_many, ManyInt8Products);

/// Outputs [first, end), on this thread: for so few vectors that reading the weights is all the
/// time that it takes.
struct SomeInt8Products {
  Int8Products products;
  int64_t first = 0, end = 0;
};
TESSERA_INT8_LOOP(multiply_few, SomeInt8Products);

}  // namespace tessera::ops::cpu
