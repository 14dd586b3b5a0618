#pragma once

#include <cstdint>

#include "tessera/ops/number_formats.h"

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

/// y_r = weight x_r + bias for vectors x_r in whole numbers: sums of a block in 32 bits, and those
/// of blocks, times both scales, in float.
struct Int8Products {
  Int8Vectors x;
  const int8_t* weight = nullptr;  // [outputs, int8_row_bytes(x.length)]
  const float* bias = nullptr;     // [outputs] or null
  int64_t outputs = 0;
  float* y = nullptr;  // [x.rows, outputs]
};

/// The loops as one instruction set has them.
struct Int8Loops {
  /// x [rows, length] to nearest; a block's scale is its largest magnitude / 127. On this thread.
  void (*round_vectors)(const float* x, const Int8Vectors& rounded);
  /// Outputs [first, end), on this thread: for so few vectors that reading the weights is all the
  /// time that it takes.
  void (*multiply_few)(const Int8Products& f, int64_t first, int64_t end);
  /// All outputs of many vectors, on OpenMP's threads.
  void (*multiply_many)(const Int8Products& f);
};

/// The fastest that may run here (AVX-512 with products of bytes, AVX-512, AVX2), or null.
const Int8Loops* int8_loops();

}  // namespace tessera::ops::cpu
