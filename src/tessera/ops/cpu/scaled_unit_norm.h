#pragma once

#include "tessera/ops/cpu/sequence.h"

namespace tessera::ops::cpu {

/// y = scale_h * x / (|x| + epsilon) for every (b, t, h).
struct ScaledUnitNormForward {
  int64_t B = 0, T = 0, H = 0, D = 0;
  Sequence x;
  const float* scale = nullptr;  // [H]
  float epsilon = 0;
  Sequence y;
};

/// grad_scale [B, H] is the share of each batch row.
struct ScaledUnitNormBackward {
  int64_t B = 0, T = 0, H = 0, D = 0;
  Sequence x;
  const float* scale = nullptr;
  float epsilon = 0;
  Sequence grad_y;
  Sequence grad_x;
  float* grad_scale = nullptr;
};

}  // namespace tessera::ops::cpu
