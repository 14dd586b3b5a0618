#pragma once

// Only for *.isa.cpp files: the norm of one head at one time.

#include <cfloat>
#include <cmath>
#include <cstdint>

namespace tessera::ops::cpu::TESSERA_ISA {

inline float dot(const float* a, const float* b, int64_t D) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t d = 0; d < D; ++d) total += a[d] * b[d];
  return total;
}

/// |x|, also where the sum of the squares is beyond the largest float.
inline float length_of(const float* x, int64_t D) {
  const float squares = dot(x, x, D);
  if (squares <= FLT_MAX) return std::sqrt(squares);
  double total = 0;
  for (int64_t d = 0; d < D; ++d) total += static_cast<double>(x[d]) * x[d];
  return static_cast<float>(std::sqrt(total));
}

/// y = scale x / (|x| + epsilon).
inline void scale_to_length(const float* x, float scale, float epsilon, int64_t D, float* y) {
  const float factor = scale / (length_of(x, D) + epsilon);
#pragma omp simd
  for (int64_t d = 0; d < D; ++d) y[d] = factor * x[d];
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
