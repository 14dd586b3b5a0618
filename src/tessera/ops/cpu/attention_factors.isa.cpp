#include "tessera/ops/cpu/attention_factors.h"

#include "tessera/ops/cpu/tanh.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {
namespace {

bool worth_threads(const AttentionFactors& f) {
  return f.B * f.keys * f.queries * f.D >= simd::kWorthThreads;
}

}  // namespace

void attention_factors_forward(const AttentionFactors& f) {
#pragma omp parallel for schedule(static) if (worth_threads(f))
  for (int64_t b = 0; b < f.B; ++b)
    for (int64_t j = 0; j < f.keys; ++j) {
      const float* key = f.key + (b * f.keys + j) * f.D;
      for (int64_t s = 0; s < f.queries; ++s) {
        const float* query = f.query + (b * f.queries + s) * f.D;
        float* factor = f.factor + ((b * f.keys + j) * f.queries + s) * f.D;
#pragma omp simd
        for (int64_t d = 0; d < f.D; ++d) factor[d] = hyperbolic_tangent(query[d] * key[d]);
      }
    }
}

void attention_factors_backward(const AttentionFactorsBackward& g) {
  const AttentionFactors& f = g.forward;
#pragma omp parallel for schedule(static) if (worth_threads(f))
  for (int64_t b = 0; b < f.B; ++b) {
    float* grad_queries = g.grad_query + b * f.queries * f.D;
    for (int64_t i = 0; i < f.queries * f.D; ++i) grad_queries[i] = 0;
    for (int64_t j = 0; j < f.keys; ++j) {
      const float* key = f.key + (b * f.keys + j) * f.D;
      float* grad_key = g.grad_key + (b * f.keys + j) * f.D;
      for (int64_t d = 0; d < f.D; ++d) grad_key[d] = 0;
      for (int64_t s = 0; s < f.queries; ++s) {
        const float* query = f.query + (b * f.queries + s) * f.D;
        const int64_t row = ((b * f.keys + j) * f.queries + s) * f.D;
        const float *factor = f.factor + row, *grad = g.grad_factor + row;
        float* grad_query = grad_queries + s * f.D;
#pragma omp simd
        for (int64_t d = 0; d < f.D; ++d) {
          const float grad_product = grad[d] * (1 - factor[d] * factor[d]);
          grad_query[d] += grad_product * key[d];
          grad_key[d] += grad_product * query[d];
        }
      }
    }
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
