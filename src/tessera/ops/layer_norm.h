#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::ops {

/// Layer normalisation: y = weight (x - mean) / sqrt(variance + epsilon) + bias over the last
/// dimension. x [.., C], weight [C], bias [C] or undefined -> [.., C]. Differentiable in
/// all three. Throws UsageError on a shape or dtype mismatch.
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double epsilon);

}  // namespace tessera::ops
