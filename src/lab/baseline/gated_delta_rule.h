#pragma once

#include <ATen/core/Tensor.h>

#include "lab/baseline/retention.h"

namespace tessera::ops {

/// The gated delta rule (Yang et al. 2024, section 3.1): linear attention that forgets and corrects
/// what it stores under a key,
///   S_t = alpha_t (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t v_t^T,   y_t = S_t^T q_t.
/// (S [D, E] is the transpose of the paper's.) queries, keys [B, T, H, D], values [B, T, H, E],
/// log_decays: log alpha <= 0, and rates: beta, [B, T, H]; state [B, H, D, E]: S before the first
/// step, undefined for zeros. Differentiable in all of them.
///
/// A chunk of steps is computed at once from its WY representation (section 3.3), from chunk to
/// chunk as S: the time grows with T. T = 1 is the recurrent step. Throws UsageError on a shape or
/// dtype mismatch and unless chunk >= 1.
Retained gated_delta_rule(const at::Tensor& queries, const at::Tensor& keys,
                          const at::Tensor& values, const at::Tensor& log_decays,
                          const at::Tensor& rates, const at::Tensor& state = {},
                          int64_t chunk = 64);

}  // namespace tessera::ops
