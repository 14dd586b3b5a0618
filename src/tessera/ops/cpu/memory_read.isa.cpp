#include "tessera/ops/cpu/memory_read.h"

#include <cmath>

#include "tessera/ops/cpu/vector.h"

namespace tessera::cpu::TESSERA_ISA {
namespace {

float dot(const float* a, const float* b, int64_t D) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t d = 0; d < D; ++d) total += a[d] * b[d];
  return total;
}

/// Scores [count] -> softmax weights.
void softmax(float* scores, int64_t count) {
  float maximum = scores[0];
#pragma omp simd reduction(max : maximum)
  for (int64_t i = 0; i < count; ++i) maximum = scores[i] > maximum ? scores[i] : maximum;
  Vector total{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vector weight = exponential(load(scores + i) - maximum);
    total += weight;
    store(scores + i, weight);
  }
  float whole = sum(total);
  for (; i < count; ++i) whole += scores[i] = std::exp(scores[i] - maximum);
#pragma omp simd
  for (int64_t k = 0; k < count; ++k) scores[k] /= whole;
}

}  // namespace

void memory_read(const MemoryRead& read) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t b = 0; b < read.B; ++b)
    for (int64_t h = 0; h < read.H; ++h) {
      const int64_t head = b * read.H + h, count = read.counts ? read.counts[b] : read.N;
      const float* query = read.query + head * read.D;
      const float* keys = read.keys + b * read.key_batch_stride + h * read.key_head_stride;
      const float* values = read.values + b * read.value_batch_stride + h * read.value_head_stride;
      float* weights = read.weights + head * read.N;
      float* y = read.value + head * read.D;
      for (int64_t i = 0; i < count; ++i) weights[i] = dot(query, keys + i * read.D, read.D);
      if (count > 0) softmax(weights, count);
      for (int64_t i = count; i < read.N; ++i) weights[i] = 0;
      for (int64_t d = 0; d < read.D; ++d) y[d] = 0;
      for (int64_t i = 0; i < count; ++i)
#pragma omp simd
        for (int64_t d = 0; d < read.D; ++d) y[d] += weights[i] * values[i * read.D + d];
    }
}

}  // namespace tessera::cpu::TESSERA_ISA
