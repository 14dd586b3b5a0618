#include "tessera/ops/cpu/cross_entropy.h"

#include <cmath>

#include "tessera/simd/vector.h"

namespace tessera::ops::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;
namespace {

struct SoftmaxSum {
  float maximum;  // of the logits
  float sum;      // of exp(logit - maximum)
};

/// Logits in place of the products, then exp(logit - maximum) in place of the logits.
SoftmaxSum exponentiate(float* row, int64_t V, float scale) {
  const int64_t whole = V / kLanes * kLanes;
  Vector best = fill(-3e38f);
  for (int64_t v = 0; v < whole; v += kLanes) {
    const Vector logits = load(row + v) * scale;
    best = larger(logits, best);
    store(row + v, logits);
  }
  float maximum = largest(best);
  for (int64_t v = whole; v < V; ++v) {
    row[v] *= scale;
    maximum = row[v] > maximum ? row[v] : maximum;
  }
  Vector total{};
  for (int64_t v = 0; v < whole; v += kLanes) {
    const Vector weight = exponential(load(row + v) - maximum);
    total += weight;
    store(row + v, weight);
  }
  float rest = 0;
  for (int64_t v = whole; v < V; ++v) rest += row[v] = std::exp(row[v] - maximum);
  return {maximum, sum(total) + rest};
}

}  // namespace

void cross_entropy(const CrossEntropy& loop) {
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < loop.rows; ++r) {
    float* row = loop.products + r * loop.V;
    const int64_t target = loop.targets[r];
    const float target_logit = loop.logit_scale * row[target];
    const SoftmaxSum softmax = exponentiate(row, loop.V, loop.logit_scale);
    loop.losses[r] = softmax.maximum + std::log(softmax.sum) - target_logit;
    if (!loop.wants_gradient) continue;
    const float weight = loop.weights[r] * loop.logit_scale, factor = weight / softmax.sum;
#pragma omp simd
    for (int64_t v = 0; v < loop.V; ++v) row[v] *= factor;
    row[target] -= weight;
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
