#pragma once

#include "tessera/ops/cpu/sequence.h"

namespace tessera::ops::cpu {

/// y_t = x_t + decay_h * y_{t-1}, y_0 = initial [B, H, D].
struct LeakyAverageForward {
  int64_t B = 0, T = 0, H = 0, D = 0;
  Sequence x;
  const float* decay = nullptr;  // [H]
  const float* initial = nullptr;
  Sequence y;
};

/// grad_decay [B, H] is the share of each batch row.
struct LeakyAverageBackward {
  int64_t B = 0, T = 0, H = 0, D = 0;
  Sequence y;
  Sequence grad_y;
  const float* decay = nullptr;
  const float* initial = nullptr;
  Sequence grad_x;
  float* grad_decay = nullptr;
  float* grad_initial = nullptr;
};

}  // namespace tessera::ops::cpu
