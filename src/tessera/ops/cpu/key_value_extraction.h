#pragma once

#include "tessera/ops/cpu/loop.h"
#include "tessera/ops/cpu/tensor_views.h"

namespace tessera::ops::cpu {

// Sequences of one loop have the same sizes. The gradient of a factor per head, [B, H], is the
// share of each batch row.

/// y_t = gain_t * x_t + decay_t * y_{t-1}, y_0 = initial [B, H, D]; the gain of leaky_average is 1.
struct LeakyAverage {
  Sequence x;
  const float* gain = nullptr;   // [B, T, H]
  const float* decay = nullptr;  // [B, T, H]; of leaky_average [H]
  const float* initial = nullptr;
  Sequence y;
};
TESSERA_LOOP(leaky_average, LeakyAverage);
TESSERA_LOOP(gated_leaky_average, LeakyAverage);

struct LeakyAverageGradient {
  Sequence x;  // like grad_gain only of gated_leaky_average_gradient
  const float* gain = nullptr;
  const float* decay = nullptr;
  const float* initial = nullptr;
  Sequence y;
  Sequence grad_y;
  Sequence grad_x;
  float* grad_gain = nullptr;
  float* grad_decay = nullptr;  // like the decay; of leaky_average_gradient [B, H]
  float* grad_initial = nullptr;
};
TESSERA_LOOP(leaky_average_gradient, LeakyAverageGradient);
TESSERA_LOOP(gated_leaky_average_gradient, LeakyAverageGradient);

/// y_t = mix_h * x_t + (1 - mix_h) * x_{t+1}, x_{T+1} = 0.
struct PeekAverage {
  Sequence x;
  const float* mix = nullptr;  // [H]
  Sequence y;
};
TESSERA_LOOP(peek_average, PeekAverage);

struct PeekAverageGradient {
  Sequence x;
  const float* mix = nullptr;
  Sequence grad_y;
  Sequence grad_x;
  float* grad_mix = nullptr;
};
TESSERA_LOOP(peek_average_gradient, PeekAverageGradient);

/// y = scale_h * x / (|x| + epsilon) for every (b, t, h).
struct ScaledUnitNorm {
  Sequence x;
  const float* scale = nullptr;  // [H]
  float epsilon = 0;
  Sequence y;
};
TESSERA_LOOP(scaled_unit_norm, ScaledUnitNorm);

struct ScaledUnitNormGradient {
  Sequence x;
  const float* scale = nullptr;
  float epsilon = 0;
  Sequence grad_y;
  Sequence grad_x;
  float* grad_scale = nullptr;
};
TESSERA_LOOP(scaled_unit_norm_gradient, ScaledUnitNormGradient);

}  // namespace tessera::ops::cpu
