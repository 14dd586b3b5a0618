#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::ops {

/// Brings every head's vector to one length:  y = scale_h * x / (|x| + epsilon), |x| Euclidean over
/// the last dimension (Zhang et al. 2024, Norm of keys and values).
/// x [.., H, D], scale [H] -> [.., H, D]. Differentiable in both; at x = 0 the norm's own gradient
/// is taken as zero, so dx = scale_h / epsilon * dy there. epsilon 0 makes a zero vector NaN.
/// Throws UsageError on a shape or dtype mismatch or a negative epsilon.
at::Tensor scaled_unit_norm(const at::Tensor& x, const at::Tensor& scale, double epsilon);

}  // namespace tessera::ops
