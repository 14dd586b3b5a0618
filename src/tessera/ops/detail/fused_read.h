#pragma once

#include <ATen/core/Tensor.h>

#include "tessera/ops/causal_read.h"

namespace tessera::ops {

/// The softmax read by the loops, with matrix products of the precision of the options; in float
/// where the processor cannot round. Of pairs [B, N, H, D] as causal_read() says; slots [H, N, D]
/// are read whole by every query of every sequence, and the options have no lag, window or slopes.
/// Keys and values of any WeightType; of floats, with gradients. Call it only where loops_run.
at::Tensor fused_read(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                      const CausalReadOptions& options);

}  // namespace tessera::ops
