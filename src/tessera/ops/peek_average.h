#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::ops {

/// Average with a peek one step ahead, one mix per head (Zhang et al. 2024, the values of a
/// contextual memory):  y_t = mix_h * x_t + (1 - mix_h) * x_{t+1},  with x_{T+1} = 0.
/// x [B, T, H, D], mix [H], any real -> [B, T, H, D]. Differentiable in both.
/// Throws UsageError on a shape or dtype mismatch.
at::Tensor peek_average(const at::Tensor& x, const at::Tensor& mix);

}  // namespace tessera::ops
