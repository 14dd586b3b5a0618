#include "tessera/ops/cpu/key_value_extraction.h"

#include "tessera/ops/cpu/scale_to_length.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {
namespace {

template <bool gated>
void average(const LeakyAverage& f) {
  const int64_t B = f.x.B, T = f.x.T, H = f.x.H, D = f.x.D;
#pragma omp parallel for collapse(2) schedule(static) if (f.x.numel() >= simd::kWorthThreads)
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h) {
      const float* before = f.initial + (b * H + h) * D;
      for (int64_t t = 0; t < T; ++t) {
        const int64_t gate = gated ? (b * T + t) * H + h : h;
        const float gain = gated ? f.gain[gate] : 1, decay = f.decay[gate];
        const float* x = f.x.row(b, t, h);
        float* y = f.y.row(b, t, h);
#pragma omp simd
        for (int64_t d = 0; d < D; ++d) y[d] = (gated ? gain * x[d] : x[d]) + decay * before[d];
        before = y;
      }
    }
}

}  // namespace

void leaky_average(const LeakyAverage& f) {
  average<false>(f);
}

void gated_leaky_average(const LeakyAverage& f) {
  average<true>(f);
}

void leaky_average_gradient(const LeakyAverageGradient& g) {
#pragma omp parallel for collapse(2) schedule(static) if (g.grad_x.numel() >= simd::kWorthThreads)
  for (int64_t b = 0; b < g.grad_x.B; ++b)
    for (int64_t h = 0; h < g.grad_x.H; ++h) {
      const float decay = g.decay[h];
      const float* initial = g.initial + (b * g.grad_x.H + h) * g.grad_x.D;
      const float* after = nullptr;  // the gradient of y_{t+1}
      double decay_total = 0;
      for (int64_t t = g.grad_x.T - 1; t >= 0; --t) {
        const float* dy = g.grad_y.row(b, t, h);
        float* dx = g.grad_x.row(b, t, h);
        const float* before = t > 0 ? g.y.row(b, t - 1, h) : initial;
        float total = 0;
#pragma omp simd reduction(+ : total)
        for (int64_t d = 0; d < g.grad_x.D; ++d) {
          dx[d] = after ? dy[d] + decay * after[d] : dy[d];
          total += dx[d] * before[d];
        }
        decay_total += total;
        after = dx;
      }
      g.grad_decay[b * g.grad_x.H + h] = static_cast<float>(decay_total);
      for (int64_t d = 0; d < g.grad_x.D; ++d)
        g.grad_initial[(b * g.grad_x.H + h) * g.grad_x.D + d] = after ? decay * after[d] : 0;
    }
}

void gated_leaky_average_gradient(const LeakyAverageGradient& g) {
  const int64_t B = g.x.B, T = g.x.T, H = g.x.H, D = g.x.D;
#pragma omp parallel for collapse(2) schedule(static) if (g.x.numel() >= simd::kWorthThreads)
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h) {
      const float* initial = g.initial + (b * H + h) * D;
      float* after = g.grad_initial + (b * H + h) * D;  // what reaches y_t from y_{t+1}
      for (int64_t d = 0; d < D; ++d) after[d] = 0;
      for (int64_t t = T - 1; t >= 0; --t) {
        const int64_t gate = (b * T + t) * H + h;
        const float gain = g.gain[gate], decay = g.decay[gate];
        const float* x = g.x.row(b, t, h);
        const float* dy = g.grad_y.row(b, t, h);
        const float* before = t > 0 ? g.y.row(b, t - 1, h) : initial;
        float* dx = g.grad_x.row(b, t, h);
        float along_x = 0, along_before = 0;
#pragma omp simd reduction(+ : along_x, along_before)
        for (int64_t d = 0; d < D; ++d) {
          const float total = dy[d] + after[d];
          along_x += total * x[d];
          along_before += total * before[d];
          dx[d] = gain * total;
          after[d] = decay * total;
        }
        g.grad_gain[gate] = along_x;
        g.grad_decay[gate] = along_before;
      }
    }
}

void peek_average(const PeekAverage& f) {
#pragma omp parallel for collapse(2) schedule(static) if (f.x.numel() >= simd::kWorthThreads)
  for (int64_t b = 0; b < f.x.B; ++b)
    for (int64_t h = 0; h < f.x.H; ++h) {
      const float here = f.mix[h], ahead = 1 - here;
      for (int64_t t = 0; t < f.x.T; ++t) {
        const float* x = f.x.row(b, t, h);
        const float* next = t + 1 < f.x.T ? f.x.row(b, t + 1, h) : nullptr;
        float* y = f.y.row(b, t, h);
#pragma omp simd
        for (int64_t d = 0; d < f.x.D; ++d) y[d] = here * x[d] + (next ? ahead * next[d] : 0.0f);
      }
    }
}

void peek_average_gradient(const PeekAverageGradient& g) {
#pragma omp parallel for collapse(2) schedule(static) if (g.grad_x.numel() >= simd::kWorthThreads)
  for (int64_t b = 0; b < g.grad_x.B; ++b)
    for (int64_t h = 0; h < g.grad_x.H; ++h) {
      const float here = g.mix[h], ahead = 1 - here;
      double mix_total = 0;
      for (int64_t t = 0; t < g.grad_x.T; ++t) {
        const float* x = g.x.row(b, t, h);
        const float* next = t + 1 < g.grad_x.T ? g.x.row(b, t + 1, h) : nullptr;
        const float* dy = g.grad_y.row(b, t, h);
        const float* before = t > 0 ? g.grad_y.row(b, t - 1, h) : nullptr;
        float* dx = g.grad_x.row(b, t, h);
        float total = 0;
#pragma omp simd reduction(+ : total)
        for (int64_t d = 0; d < g.grad_x.D; ++d) {
          dx[d] = here * dy[d] + (before ? ahead * before[d] : 0.0f);
          total += dy[d] * (x[d] - (next ? next[d] : 0.0f));
        }
        mix_total += total;
      }
      g.grad_mix[b * g.grad_x.H + h] = static_cast<float>(mix_total);
    }
}

void scaled_unit_norm(const ScaledUnitNorm& f) {
#pragma omp parallel for collapse(2) schedule(static) if (f.x.numel() >= simd::kWorthThreads)
  for (int64_t b = 0; b < f.x.B; ++b)
    for (int64_t t = 0; t < f.x.T; ++t)
      for (int64_t h = 0; h < f.x.H; ++h) {
        const float* x = f.x.row(b, t, h);
        float* y = f.y.row(b, t, h);
        scale_to_length(x, f.scale[h], f.epsilon, f.x.D, y);
      }
}

void scaled_unit_norm_gradient(const ScaledUnitNormGradient& g) {
#pragma omp parallel for collapse(2) schedule(static) if (g.grad_x.numel() >= simd::kWorthThreads)
  for (int64_t b = 0; b < g.grad_x.B; ++b)
    for (int64_t h = 0; h < g.grad_x.H; ++h) {
      double scale_total = 0;
      for (int64_t t = 0; t < g.grad_x.T; ++t) {
        const float* x = g.x.row(b, t, h);
        const float* dy = g.grad_y.row(b, t, h);
        float* dx = g.grad_x.row(b, t, h);
        const float length = length_of(x, g.grad_x.D), whole = length + g.epsilon;
        const double along = large_dot(x, dy, g.grad_x.D);
        scale_total += whole > 0 ? along / whole : NAN;
        const float factor = g.scale[h] / whole;
        // d|x|/dx is x / |x|, taken as zero at x = 0.
        const float square = length * whole;
        const auto back = static_cast<float>(square > FLT_MAX ? along / length / whole
                                             : length > 0     ? along / square
                                                              : 0);
#pragma omp simd
        for (int64_t d = 0; d < g.grad_x.D; ++d) dx[d] = factor * (dy[d] - back * x[d]);
      }
      g.grad_scale[b * g.grad_x.H + h] = static_cast<float>(scale_total);
    }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
