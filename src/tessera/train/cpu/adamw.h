#pragma once

#include <cstdint>

#include "tessera/simd/instruction_set.h"

namespace tessera::optimizer::cpu {

/// What one update does to every element: the coefficients of AdamW, worked out in double.
struct AdamWCoefficients {
  double keep;        ///< 1 - rate * decay
  double rate;        ///< rate / (1 - beta1^t)
  double root_scale;  ///< 1 / sqrt(1 - beta2^t)
  double beta1, beta2, epsilon;
  double gradient_scale;
};

/// One update of n elements.
struct AdamWUpdate {
  AdamWCoefficients with;
  int64_t n = 0;
  const float* gradient = nullptr;
  float* value = nullptr;
  float* m = nullptr;
  float* v = nullptr;
};
TESSERA_SERIAL_LOOP(update, AdamWUpdate);

/// *sum = the sum of n squares, in double.
struct SquareSum {
  int64_t n = 0;
  const float* x = nullptr;
  double* sum = nullptr;
};
TESSERA_SERIAL_LOOP(sum_squares, SquareSum);

}  // namespace tessera::optimizer::cpu
