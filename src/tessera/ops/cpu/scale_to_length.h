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

/// a . b, also where it is beyond the largest float.
inline double large_dot(const float* a, const float* b, int64_t D) {
  const float total = dot(a, b, D);
  if (std::abs(total) <= FLT_MAX) return total;
  double large = 0;
  for (int64_t d = 0; d < D; ++d) large += static_cast<double>(a[d]) * b[d];
  return large;
}

inline float length_of(const float* x, int64_t D) {
  return static_cast<float>(std::sqrt(large_dot(x, x, D)));
}

/// y = scale x / (|x| + epsilon).
inline void scale_to_length(const float* x, float scale, float epsilon, int64_t D, float* y) {
  const float factor = scale / (length_of(x, D) + epsilon);
#pragma omp simd
  for (int64_t d = 0; d < D; ++d) y[d] = factor * x[d];
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
