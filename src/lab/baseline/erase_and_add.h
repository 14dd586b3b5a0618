#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::ops {

/// What H write heads make of a memory: each erases, then all add (Graves et al. 2014, eq. 3, 4),
///     m_n <- m_n prod_h (1 - w_hn e_h) + sum_h w_hn a_h.
/// memory [B, N, W], weights [B, H, N], erase, add [B, H, W] -> [B, N, W]. Throws UsageError
/// on a shape mismatch.
at::Tensor erase_and_add(const at::Tensor& memory, const at::Tensor& weights,
                         const at::Tensor& erase, const at::Tensor& add);

}  // namespace tessera::ops
