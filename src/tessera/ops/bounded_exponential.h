#pragma once

#include <ATen/core/Tensor.h>

#include <limits>

namespace tessera::ops {

/// y = exp(min(slope x, bound)) of each element: a factor per head from its stored logarithm. Above
/// the bound the gradient is 0. x [..] -> [..], in its dtype. Throws c10::ValueError unless x is a
/// floating-point tensor.
at::Tensor bounded_exponential(const at::Tensor& x, double slope,
                               double bound = std::numeric_limits<double>::infinity());

}  // namespace tessera::ops
