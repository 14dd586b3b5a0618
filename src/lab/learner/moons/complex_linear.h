#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::ops {

/// y = W x over the complex numbers, each of which is two channels, its real and its imaginary
/// part:
///   re y_o = sum_i re w_oi re x_i - im w_oi im x_i,
///   im y_o = sum_i im w_oi re x_i + re w_oi im x_i.
/// x [.., 2 in], weight [out, in, 2] -> [.., 2 out], in the dtype of x. Throws UsageError on a
/// shape or dtype mismatch.
at::Tensor complex_linear(const at::Tensor& x, const at::Tensor& weight);

}  // namespace tessera::ops
