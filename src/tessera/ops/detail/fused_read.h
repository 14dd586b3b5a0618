#pragma once

#include <ATen/core/Tensor.h>

#include "tessera/ops/causal_read.h"

namespace tessera::ops {

// Softmax reads by the loops, with matrix products of the precision of the options; in float where
// the processor cannot round. Of pairs [B, N, H, D] as causal_read() says; slots [H, N, D] are read
// whole by every query of every sequence, and the options have no lag, window or slopes. Call them
// only where loops_run.

/// Of floats, with gradients.
at::Tensor fused_read(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                      const CausalReadOptions& options);

/// No gradient; keys and values of any WeightType. The slopes are contiguous.
CausalReading fused_read_with_sums(const at::Tensor& queries, const at::Tensor& keys,
                                   const at::Tensor& values, const CausalReadOptions& options);

}  // namespace tessera::ops
