#pragma once

#include <ATen/core/Tensor.h>

#include "tessera/ops/dropout.h"
#include "tessera/ops/number_formats.h"

namespace tessera::ops {

/// The read of a contextual memory (Zhang et al. 2024, eq. 7): Gaussian kernel smoothing over the
/// pairs stored so far, for keys of equal length a softmax without 1 / sqrt(D):
///   y_t = sum_{i < t} softmax_i(k_t . k_i) v_i,   y_1 = 0 (nothing is stored yet).
/// keys, values [B, T, H, D] (views of [B, T, C] are fine) -> [B, T, H, D]. The keys are the
/// queries too; their gradient is that of both roles. The dropout acts on the softmax weights.
/// Throws UsageError on a shape or dtype mismatch.
at::Tensor kernel_smoothing(const at::Tensor& keys, const at::Tensor& values,
                            const Dropout& dropout = {}, Precision precision = Precision::kFloat32);

}  // namespace tessera::ops
