#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::ops {

/// The matrix products of two batches, a [B, m, k] b [B, k, n] -> [B, m, n], with `sum` [B, m, n]
/// added where it is defined: what at::bmm and at::baddbmm compute. On the CPU in float each
/// product is one call of BLAS, the B of them shared among the threads; at::bmm spends several
/// microseconds on each, more than a product of this library's small matrices takes. Differentiable
/// in all. Throws UsageError on a shape or dtype mismatch.
at::Tensor batched_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& sum = {});

/// The same into `product` [B, m, n], without gradient: for the passes of other ops. Float tensors
/// on the CPU; the rows of `product` are contiguous.
void write_batched_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& product);

}  // namespace tessera::ops
