#include "tessera/ops/cpu/scaled_unit_norm.h"

#include "tessera/ops/cpu/scale_to_length.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {

void scaled_unit_norm_forward(const ScaledUnitNormForward& f) {
#pragma omp parallel for collapse(2) \
    schedule(static) if (f.B * f.T * f.H * f.D >= simd::kWorthThreads)
  for (int64_t b = 0; b < f.B; ++b)
    for (int64_t t = 0; t < f.T; ++t)
      for (int64_t h = 0; h < f.H; ++h) {
        const float* x = f.x.row(b, t, h);
        float* y = f.y.row(b, t, h);
        scale_to_length(x, f.scale[h], f.epsilon, f.D, y);
      }
}

void scaled_unit_norm_backward(const ScaledUnitNormBackward& g) {
#pragma omp parallel for collapse(2) \
    schedule(static) if (g.B * g.T * g.H * g.D >= simd::kWorthThreads)
  for (int64_t b = 0; b < g.B; ++b)
    for (int64_t h = 0; h < g.H; ++h) {
      double scale_total = 0;
      for (int64_t t = 0; t < g.T; ++t) {
        const float* x = g.x.row(b, t, h);
        const float* dy = g.grad_y.row(b, t, h);
        float* dx = g.grad_x.row(b, t, h);
        const float length = std::sqrt(dot(x, x, g.D)), whole = length + g.epsilon;
        const float along = dot(x, dy, g.D);
        scale_total += whole > 0 ? along / whole : NAN;
        const float factor = g.scale[h] / whole;
        // d|x|/dx is x / |x|, taken as zero at x = 0.
        const float back = length > 0 ? along / (length * whole) : 0;
#pragma omp simd
        for (int64_t d = 0; d < g.D; ++d) dx[d] = factor * (dy[d] - back * x[d]);
      }
      g.grad_scale[b * g.H + h] = static_cast<float>(scale_total);
    }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
