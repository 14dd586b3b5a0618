#pragma once

#include <ATen/core/Tensor.h>

#include "tessera/ops/dropout.h"
#include "tessera/ops/number_formats.h"

namespace tessera::ops {

/// Causal softmax attention, the present included:
///   y_t = sum_{i <= t} softmax_i(scale * q_t . k_i - slope_h * (t - i)) v_i.
/// queries, keys, values [B, T, H, D] -> [B, T, H, D], differentiable in all three. alibi_slopes
/// [H] (Press et al. 2022) are constants; undefined means none. The dropout acts on the softmax
/// weights. Throws UsageError on a shape or dtype mismatch, or slopes that require a gradient.
at::Tensor causal_attention(const at::Tensor& queries, const at::Tensor& keys,
                            const at::Tensor& values, double scale,
                            const at::Tensor& alibi_slopes = {}, const Dropout& dropout = {},
                            Precision precision = Precision::kFloat32);

}  // namespace tessera::ops
