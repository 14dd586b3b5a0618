#include "tessera/ops/cpu/dropout.h"

#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {

void activation_dropout(const ActivationDropout& f) {
  const uint32_t head_key = dropout_head_key(f.seed, 0, 0);
  const uint32_t threshold = dropout_threshold(f.probability);
  const float kept = static_cast<float>(1.0 / (1.0 - f.probability));
#pragma omp parallel for schedule(static) if (f.rows * f.columns >= simd::kWorthThreads)
  for (int64_t row = 0; row < f.rows; ++row) {
    const uint32_t row_key = dropout_row_key(head_key, row);
    const float* x = f.x + row * f.columns;
    float* y = f.y + row * f.columns;
#pragma omp simd
    for (int64_t column = 0; column < f.columns; ++column) {
      const uint32_t word = mix32(row_key + static_cast<uint32_t>(column) * kPairStep);
      y[column] = x[column] * (word >= threshold ? kept : 0.0f);
    }
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
