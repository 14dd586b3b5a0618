#pragma once

#include <cstdint>

#include "tessera/ops/cpu/loop.h"
#include "tessera/ops/cpu/tensor_views.h"

namespace tessera::ops::cpu {

// What is done to so few rows that reading the weights once is all the time it takes, as in
// generation. Forward only.

/// Weights of any type; it rounds x itself where that is needed.
TESSERA_LOOP(row_products, Products);

/// y = weight (x - mean) / sqrt(variance + epsilon) + bias of each row.
struct LayerNorm {
  int64_t rows = 0, channels = 0;
  const float* x = nullptr;       // [rows, channels]
  const float* weight = nullptr;  // [channels]
  const float* bias = nullptr;    // [channels] or null
  float epsilon = 0;
  float* y = nullptr;  // [rows, channels]
};
TESSERA_LOOP(layer_norm, LayerNorm);

}  // namespace tessera::ops::cpu
