#pragma once

#include <ATen/core/Tensor.h>

#include "tessera/ops/key_value_extraction.h"

namespace tessera::ops {

/// The bandwidth of a smoothing kernel that grows narrower as the memory fills (Zhang & Bottou
/// 2025, adaptive bandwidth), one per head:  beta(n) = factor n^alpha + offset,
/// alpha = min(|exponent|, 1), for n stored pairs.
struct AdaptiveBandwidth {
  HeadFactor offset;    ///< beta_0
  HeadFactor factor;    ///< beta_1
  at::Tensor exponent;  ///< [H]
};

/// pairs: n, a tensor of any shape [..] and floating-point type; where nothing is stored, n = 0, as
/// for one pair -> beta [.., H]. Differentiable in the parameters. Throws UsageError where these
/// are not all [H] of the type of `pairs`.
at::Tensor adaptive_bandwidth(const at::Tensor& pairs, const AdaptiveBandwidth& parameters);

}  // namespace tessera::ops
