#pragma once

#include <cstdint>

namespace tessera::train::cpu {

/// What one update does to every element: the coefficients of AdamW, worked out in double.
struct AdamWCoefficients {
  double keep;        ///< 1 - rate * decay
  double rate;        ///< rate / (1 - beta1^t)
  double root_scale;  ///< 1 / sqrt(1 - beta2^t)
  double beta1, beta2, epsilon;
  double gradient_scale;
};

/// One update of n elements.
template <typename Scalar>
struct AdamWUpdate {
  AdamWCoefficients with;
  int64_t n = 0;
  const Scalar* gradient = nullptr;
  Scalar* value = nullptr;
  Scalar* m = nullptr;
  Scalar* v = nullptr;
};

}  // namespace tessera::train::cpu
