#include "tessera/ops/cpu/leaky_average.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {

void leaky_average_forward(const LeakyAverageForward& f) {
#pragma omp parallel for collapse(2) \
    schedule(static) if (f.B * f.T * f.H * f.D >= simd::kWorthThreads)
  for (int64_t b = 0; b < f.B; ++b)
    for (int64_t h = 0; h < f.H; ++h) {
      const float decay = f.decay[h];
      const float* before = f.initial + (b * f.H + h) * f.D;
      for (int64_t t = 0; t < f.T; ++t) {
        const float* x = f.x.row(b, t, h);
        float* y = f.y.row(b, t, h);
#pragma omp simd
        for (int64_t d = 0; d < f.D; ++d) y[d] = x[d] + decay * before[d];
        before = y;
      }
    }
}

void leaky_average_backward(const LeakyAverageBackward& g) {
#pragma omp parallel for collapse(2) \
    schedule(static) if (g.B * g.T * g.H * g.D >= simd::kWorthThreads)
  for (int64_t b = 0; b < g.B; ++b)
    for (int64_t h = 0; h < g.H; ++h) {
      const float decay = g.decay[h];
      const float* initial = g.initial + (b * g.H + h) * g.D;
      const float* after = nullptr;  // the gradient of y_{t+1}
      double decay_total = 0;
      for (int64_t t = g.T - 1; t >= 0; --t) {
        const float* dy = g.grad_y.row(b, t, h);
        float* dx = g.grad_x.row(b, t, h);
        const float* before = t > 0 ? g.y.row(b, t - 1, h) : initial;
        float total = 0;
#pragma omp simd reduction(+ : total)
        for (int64_t d = 0; d < g.D; ++d) {
          dx[d] = after ? dy[d] + decay * after[d] : dy[d];
          total += dx[d] * before[d];
        }
        decay_total += total;
        after = dx;
      }
      g.grad_decay[b * g.H + h] = static_cast<float>(decay_total);
      for (int64_t d = 0; d < g.D; ++d)
        g.grad_initial[(b * g.H + h) * g.D + d] = after ? decay * after[d] : 0;
    }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
