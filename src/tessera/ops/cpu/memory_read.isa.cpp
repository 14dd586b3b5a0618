#include "tessera/ops/cpu/memory_read.h"

#include <cmath>

#include "tessera/ops/cpu/dot_products.h"
#include "tessera/ops/cpu/sequence.h"

namespace tessera::cpu::TESSERA_ISA {
namespace {

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

/// Vectors of a value that are summed in registers at a time.
constexpr int64_t kVectors = 4;

/// y [vectors * kLanes] = sum_i weights_i row i; rows are D apart.
template <int vectors>
void add_columns(const float* weights, const float* rows, int64_t count, int64_t D, float* y) {
  Vector totals[vectors] = {};
  for (int64_t i = 0; i < count; ++i)
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) totals[v] += weights[i] * load(rows + i * D + v * kLanes);
  for (int64_t v = 0; v < vectors; ++v) store(y + v * kLanes, totals[v]);
}

/// y [D] = sum_i weights_i row i.
void weighted_sum(const float* weights, const float* rows, int64_t count, int64_t D, float* y) {
  int64_t d = 0;
  for (; d + kVectors * kLanes <= D; d += kVectors * kLanes)
    add_columns<kVectors>(weights, rows + d, count, D, y + d);
  for (; d + kLanes <= D; d += kLanes) add_columns<1>(weights, rows + d, count, D, y + d);
  for (; d < D; ++d) {
    y[d] = 0;
    for (int64_t i = 0; i < count; ++i) y[d] += weights[i] * rows[i * D + d];
  }
}

}  // namespace

void memory_read(const MemoryRead& read) {
  const bool worth = read.B * read.H * read.N * read.D >= kWorthThreads;
  // Rows of one head after another: where they share its pairs, these stay in the cache.
#pragma omp parallel for collapse(2) schedule(static) if (worth)
  for (int64_t h = 0; h < read.H; ++h)
    for (int64_t b = 0; b < read.B; ++b) {
      const int64_t head = b * read.H + h, count = read.counts ? read.counts[b] : read.N;
      const float* query = read.query + head * read.D;
      const float* keys = read.keys + b * read.key_batch_stride + h * read.key_head_stride;
      const float* values = read.values + b * read.value_batch_stride + h * read.value_head_stride;
      float* weights = read.weights + head * read.N;
      float* y = read.value + head * read.D;
      for (int64_t i = 0; i < count; i += kRowsTogether) {
        const int64_t rows = count - i < kRowsTogether ? count - i : kRowsTogether;
        dot_products(query, keys + i * read.D, rows, read.D, weights + i);
      }
      if (count > 0) softmax(weights, count);
      for (int64_t i = count; i < read.N; ++i) weights[i] = 0;
      weighted_sum(weights, values, count, read.D, y);
    }
}

}  // namespace tessera::cpu::TESSERA_ISA
