#include "tessera/ops/cpu/peek_average.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {

void peek_average_forward(const PeekAverageForward& f) {
#pragma omp parallel for collapse(2) \
    schedule(static) if (f.B * f.T * f.H * f.D >= simd::kWorthThreads)
  for (int64_t b = 0; b < f.B; ++b)
    for (int64_t h = 0; h < f.H; ++h) {
      const float here = f.mix[h], ahead = 1 - here;
      for (int64_t t = 0; t < f.T; ++t) {
        const float* x = f.x.row(b, t, h);
        const float* next = t + 1 < f.T ? f.x.row(b, t + 1, h) : nullptr;
        float* y = f.y.row(b, t, h);
#pragma omp simd
        for (int64_t d = 0; d < f.D; ++d) y[d] = here * x[d] + (next ? ahead * next[d] : 0.0f);
      }
    }
}

void peek_average_backward(const PeekAverageBackward& g) {
#pragma omp parallel for collapse(2) \
    schedule(static) if (g.B * g.T * g.H * g.D >= simd::kWorthThreads)
  for (int64_t b = 0; b < g.B; ++b)
    for (int64_t h = 0; h < g.H; ++h) {
      const float here = g.mix[h], ahead = 1 - here;
      double mix_total = 0;
      for (int64_t t = 0; t < g.T; ++t) {
        const float* x = g.x.row(b, t, h);
        const float* next = t + 1 < g.T ? g.x.row(b, t + 1, h) : nullptr;
        const float* dy = g.grad_y.row(b, t, h);
        const float* before = t > 0 ? g.grad_y.row(b, t - 1, h) : nullptr;
        float* dx = g.grad_x.row(b, t, h);
        float total = 0;
#pragma omp simd reduction(+ : total)
        for (int64_t d = 0; d < g.D; ++d) {
          dx[d] = here * dy[d] + (before ? ahead * before[d] : 0.0f);
          total += dy[d] * (x[d] - (next ? next[d] : 0.0f));
        }
        mix_total += total;
      }
      g.grad_mix[b * g.H + h] = static_cast<float>(mix_total);
    }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
