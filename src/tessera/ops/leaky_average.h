#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::ops {

/// Leaky average over time, one decay per head (Zhang et al. 2024, the keys of a contextual
/// memory):  y_t = x_t + decay_h * y_{t-1}.
/// x [B, T, H, D], decay [H] in [0, 1) -> [B, T, H, D]. initial [B, H, D] is y_0 (zero when
/// undefined), so that a sequence may be read in pieces: the last y of one is the next's initial.
/// Differentiable in all three. Throws UsageError on a shape or dtype mismatch.
at::Tensor leaky_average(const at::Tensor& x, const at::Tensor& decay,
                         const at::Tensor& initial = {});

}  // namespace tessera::ops
