#pragma once

#include <cstdint>

#include "tessera/ops/cpu/int8/int8_products.h"
#include "tessera/ops/cpu/loop.h"
#include "tessera/ops/cpu/tensor_views.h"

namespace tessera::ops::cpu {

// What is done to so few rows that reading the weights once is all the time it takes, as in
// generation. Forward only.

/// y_r = weight x_r + bias. row_products rounds x where that is needed.
struct RowProducts {
  int64_t rows = 0, inputs = 0, outputs = 0;
  const float* x = nullptr;     // [rows, inputs]
  WeightRows weight;            // [outputs, inputs]
  const float* bias = nullptr;  // [outputs] or null
  float* y = nullptr;           // [rows, outputs]
  Int8Vectors rounded = {};     // x, for weights of 8 bits; filled in by the loops
};
TESSERA_LOOP(row_products, RowProducts);

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
