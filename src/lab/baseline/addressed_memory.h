#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::ops {

/// Addressing by content: how much each key attends to each slot of a memory,
///     w_hn = softmax_n(strength_h cos(key_h, m_n)),  cos(a, b) = a . b / (|a| |b| + 1e-6),
/// so that a zero vector is like nothing (Graves et al. 2014, eq. 5, 6; Graves et al. 2016).
/// keys [B, H, W], strengths [B, H], memory [B, N, W] -> [B, H, N]. Throws UsageError on a
/// shape mismatch.
at::Tensor content_weights(const at::Tensor& keys, const at::Tensor& strengths,
                           const at::Tensor& memory);

/// What H write heads make of a memory: each erases, then all add (Graves et al. 2014, eq. 3, 4),
///     m_n <- m_n prod_h (1 - w_hn e_h) + sum_h w_hn a_h.
/// memory [B, N, W], weights [B, H, N], erase, add [B, H, W] -> [B, N, W]. Throws UsageError
/// on a shape mismatch.
at::Tensor erase_and_add(const at::Tensor& memory, const at::Tensor& weights,
                         const at::Tensor& erase, const at::Tensor& add);

}  // namespace tessera::ops
