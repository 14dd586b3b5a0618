#pragma once

#include "tessera/ops/cpu/sequence.h"

namespace tessera::ops::cpu {

/// y_t = mix_h * x_t + (1 - mix_h) * x_{t+1}, x_{T+1} = 0.
struct PeekAverageForward {
  int64_t B = 0, T = 0, H = 0, D = 0;
  Sequence x;
  const float* mix = nullptr;  // [H]
  Sequence y;
};

/// grad_mix [B, H] is the share of each batch row.
struct PeekAverageBackward {
  int64_t B = 0, T = 0, H = 0, D = 0;
  Sequence x;
  const float* mix = nullptr;
  Sequence grad_y;
  Sequence grad_x;
  float* grad_mix = nullptr;
};

}  // namespace tessera::ops::cpu
