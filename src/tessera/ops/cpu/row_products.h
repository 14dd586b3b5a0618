#pragma once

#include <cstdint>

namespace tessera::ops::cpu {

/// y_r = weight x_r + bias for so few rows r that reading the weight once is all the time it takes.
struct RowProducts {
  int64_t rows = 0, inputs = 0, outputs = 0;
  const float* x = nullptr;       // [rows, inputs]
  const float* weight = nullptr;  // [outputs, inputs]
  const float* bias = nullptr;    // [outputs] or null
  float* y = nullptr;             // [rows, outputs]
};

}  // namespace tessera::ops::cpu
