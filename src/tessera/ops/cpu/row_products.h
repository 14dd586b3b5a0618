#pragma once

#include <cstdint>

#include "tessera/ops/cpu/int8/int8_products.h"
#include "tessera/ops/cpu/weight_rows.h"

namespace tessera::ops::cpu {

/// y_r = weight x_r + bias for so few rows r that reading the weight once is all the time it takes.
struct RowProducts {
  int64_t rows = 0, inputs = 0, outputs = 0;
  const float* x = nullptr;     // [rows, inputs]
  WeightRows weight;            // [outputs, inputs]
  const float* bias = nullptr;  // [outputs] or null
  float* y = nullptr;           // [rows, outputs]
  Int8Vectors rounded;          // x, for weights of 8 bits
};

}  // namespace tessera::ops::cpu
