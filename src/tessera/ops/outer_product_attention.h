#pragma once

#include <ATen/core/Tensor.h>

namespace tessera::ops {

/// Outer-product attention (Le et al. 2020, eq. 2) forms a matrix for every query,
///   A(q, K, V) = Σ_j tanh(q ⊙ k_j) ⊗ v_j,
/// in two parts, because much of what reads the result needs the factors tanh(q ⊙ k_j) only.

/// The factors f[b, j, s, :] = tanh(q_s ⊙ k_j): queries [B, Nq, D], keys [B, Nk, D] ->
/// [B, Nk, Nq, D]. Throws UsageError on a shape or dtype mismatch.
at::Tensor attention_factors(const at::Tensor& queries, const at::Tensor& keys);

/// Σ_j f[j, s] ⊗ v_j: factors [B, Nk, Nq, D], values [B, Nk, E] -> [B, Nq, D, E], as one matrix
/// product for each b: a tensor [B, Nk, Nq, D, E] is never formed. Throws UsageError on a
/// shape or dtype mismatch.
at::Tensor associate(const at::Tensor& factors, const at::Tensor& values);

/// The whole of it: queries [B, Nq, D], keys [B, Nk, D], values [B, Nk, E] -> [B, Nq, D, E]. There
/// is no softmax and no 1/sqrt(D). Differentiable in all three. Throws UsageError on a shape
/// or dtype mismatch.
at::Tensor outer_product_attention(const at::Tensor& queries, const at::Tensor& keys,
                                   const at::Tensor& values);

}  // namespace tessera::ops
