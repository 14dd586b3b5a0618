#pragma once

#include <cstdint>

namespace tessera {

/// What one update does to every element: the coefficients of AdamW, worked out in double.
struct AdamWCoefficients {
  double keep;        ///< 1 - rate * decay
  double rate;        ///< rate / (1 - beta1^t)
  double root_scale;  ///< 1 / sqrt(1 - beta2^t)
  double beta1, beta2, epsilon;
  double gradient_scale;
};

/// One update of n elements.
void adamw_loop(const AdamWCoefficients& with, int64_t n, const float* gradient, float* value,
                float* m, float* v);
void adamw_loop(const AdamWCoefficients& with, int64_t n, const double* gradient, double* value,
                double* m, double* v);

/// Sum of squares, in double.
double square_sum(int64_t n, const float* x);
double square_sum(int64_t n, const double* x);

}  // namespace tessera
