#include "tessera/train/cpu/adamw.h"

#include <cmath>

namespace tessera::optimizer::cpu::TESSERA_ISA {

void update(const AdamWUpdate& f) {
  const auto keep = static_cast<float>(f.with.keep), rate = static_cast<float>(f.with.rate);
  const auto root_scale = static_cast<float>(f.with.root_scale);
  const auto beta1 = static_cast<float>(f.with.beta1), beta2 = static_cast<float>(f.with.beta2);
  const auto rest1 = static_cast<float>(1.0 - f.with.beta1);
  const auto rest2 = static_cast<float>(1.0 - f.with.beta2);
  const auto epsilon = static_cast<float>(f.with.epsilon);
  const auto gradient_scale = static_cast<float>(f.with.gradient_scale);
#pragma omp simd
  for (int64_t i = 0; i < f.n; ++i) {
    const float g = f.gradient[i] * gradient_scale;
    const float m = beta1 * f.m[i] + rest1 * g, v = beta2 * f.v[i] + rest2 * g * g;
    f.m[i] = m;
    f.v[i] = v;
    f.value[i] = keep * f.value[i] - rate * m / (std::sqrt(v) * root_scale + epsilon);
  }
}

void sum_squares(const SquareSum& f) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < f.n; ++i)
    sum += static_cast<double>(f.x[i]) * static_cast<double>(f.x[i]);
  *f.sum = sum;
}

}  // namespace tessera::optimizer::cpu::TESSERA_ISA
