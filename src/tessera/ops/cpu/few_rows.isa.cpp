#include "tessera/ops/cpu/few_rows.h"

#include <cmath>

#include "tessera/ops/cpu/multiply_rows.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {

void row_products(const Products& given) {
  const RoundedVectors rounded(given.weight.type, given.rows, given.inputs);
  Products f = given;
  f.rounded = rounded.of(f.x);
  const bool worth = f.inputs * f.outputs >= simd::kWorthThreadsOfReading;
#pragma omp parallel for schedule(static) if (worth)
  for (int64_t o = 0; o < f.outputs; o += kRowsTogether)
    multiply_rows(f, o, f.outputs - o < kRowsTogether ? f.outputs : o + kRowsTogether);
}

void layer_norm(const LayerNorm& f) {
  for (int64_t r = 0; r < f.rows; ++r) {
    const float* x = f.x + r * f.channels;
    float* y = f.y + r * f.channels;
    float total = 0, squares = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t c = 0; c < f.channels; ++c) total += x[c];
    const float mean = total / static_cast<float>(f.channels);
#pragma omp simd reduction(+ : squares)
    for (int64_t c = 0; c < f.channels; ++c) squares += (x[c] - mean) * (x[c] - mean);
    const float scale = 1 / std::sqrt(squares / static_cast<float>(f.channels) + f.epsilon);
#pragma omp simd
    for (int64_t c = 0; c < f.channels; ++c) y[c] = (x[c] - mean) * scale * f.weight[c];
    for (int64_t c = 0; f.bias && c < f.channels; ++c) y[c] += f.bias[c];
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
