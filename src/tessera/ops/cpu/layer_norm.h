#pragma once

#include <cstdint>

namespace tessera::ops::cpu {

/// y = weight (x - mean) / sqrt(variance + epsilon) + bias of each row, forward only.
struct LayerNorm {
  int64_t rows = 0, channels = 0;
  const float* x = nullptr;       // [rows, channels]
  const float* weight = nullptr;  // [channels]
  const float* bias = nullptr;    // [channels] or null
  float epsilon = 0;
  float* y = nullptr;  // [rows, channels]
};

}  // namespace tessera::ops::cpu
