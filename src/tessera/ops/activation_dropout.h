#pragma once

#include <ATen/core/Tensor.h>

#include "tessera/ops/dropout.h"

namespace tessera::ops {

/// Dropout on activations: each element of x [.., C] is set to zero with the given probability and
/// else divided by 1 - probability; the mask is a pure function of (seed, row, column). Returns x
/// itself where the probability is 0. Differentiable in x. Throws UsageError unless
/// 0 <= probability < 1.
at::Tensor activation_dropout(const at::Tensor& x, const Dropout& dropout);

}  // namespace tessera::ops
