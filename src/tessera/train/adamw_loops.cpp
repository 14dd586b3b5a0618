#include "tessera/train/adamw_loops.h"

#include <cmath>

// One build per instruction set, chosen when the program is loaded. The resolvers run before a
// sanitizer is ready, so there the plain build serves.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(__clang__)
#define TESSERA_PER_INSTRUCTION_SET
#else
#define TESSERA_PER_INSTRUCTION_SET __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

namespace tessera {
namespace {

template <typename Scalar>
[[gnu::always_inline]] inline void update(const AdamWCoefficients& with, int64_t n,
                                          const Scalar* __restrict gradient,
                                          Scalar* __restrict value, Scalar* __restrict m,
                                          Scalar* __restrict v) {
  const auto keep = static_cast<Scalar>(with.keep), rate = static_cast<Scalar>(with.rate);
  const auto root_scale = static_cast<Scalar>(with.root_scale);
  const auto beta1 = static_cast<Scalar>(with.beta1), beta2 = static_cast<Scalar>(with.beta2);
  const auto rest1 = static_cast<Scalar>(1.0 - with.beta1);
  const auto rest2 = static_cast<Scalar>(1.0 - with.beta2);
  const auto epsilon = static_cast<Scalar>(with.epsilon);
  const auto gradient_scale = static_cast<Scalar>(with.gradient_scale);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const Scalar g = gradient[i] * gradient_scale;
    m[i] = beta1 * m[i] + rest1 * g;
    v[i] = beta2 * v[i] + rest2 * g * g;
    value[i] = keep * value[i] - rate * m[i] / (std::sqrt(v[i]) * root_scale + epsilon);
  }
}

template <typename Scalar>
[[gnu::always_inline]] inline double squares(int64_t n, const Scalar* x) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace

TESSERA_PER_INSTRUCTION_SET
void adamw_loop(const AdamWCoefficients& with, int64_t n, const float* gradient, float* value,
                float* m, float* v) {
  update(with, n, gradient, value, m, v);
}

TESSERA_PER_INSTRUCTION_SET
void adamw_loop(const AdamWCoefficients& with, int64_t n, const double* gradient, double* value,
                double* m, double* v) {
  update(with, n, gradient, value, m, v);
}

TESSERA_PER_INSTRUCTION_SET
double square_sum(int64_t n, const float* x) {
  return squares(n, x);
}

TESSERA_PER_INSTRUCTION_SET
double square_sum(int64_t n, const double* x) {
  return squares(n, x);
}

}  // namespace tessera
