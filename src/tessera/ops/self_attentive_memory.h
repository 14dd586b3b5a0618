#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>

#include "tessera/ops/number_formats.h"

namespace tessera::ops {

// Outer-product attention (Le et al. 2020, eq. 2) forms a matrix for every query,
//   A(q, K, V) = Σ_j tanh(q ⊙ k_j) ⊗ v_j,
// in two parts, because much of what reads the result needs the factors tanh(q ⊙ k_j) only.

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

/// What the self-attentive memory operator builds from queries, keys and values (Le et al. 2020,
/// eq. 7-8), S[s] = Σ_j f[j, s] ⊗ v_j, as its factors. They are D times smaller than S [B, Nq, D,
/// E], and what is linear in S is computed from them.
struct Associations {
  at::Tensor factors;  ///< f [B, Nk, Nq, D], see attention_factors
  at::Tensor values;   ///< v [B, Nk, E]
};

/// Throws UsageError on a shape or dtype mismatch, like all functions here.
Associations self_attentive_memory(const at::Tensor& queries, const at::Tensor& keys,
                                   const at::Tensor& values);

/// Which side of each stored matrix a pattern is compared with when a relational memory is read.
///   kKeys    the query-key side: the read is a value (the authors' code)
///   kValues  the value side: the read is a query-key pattern (the paper, eq. 11)
enum class ReadSide { kKeys, kValues };
constexpr std::array<std::string_view, 2> enum_names(ReadSide) {
  return {"keys", "values"};
}

/// The two-step contraction of C reads (Le et al. 2020, eq. 11): memory [B or 1, N, D, E] (one of 1
/// is shared), slot weights p [B, C, N], patterns e [B, C, D] for kKeys or [B, C, E] for kValues:
///   kKeys    v[b] = Σ_s Σ_a p[s] e[a] R[s, a, b], [B, C, E]
///   kValues  v[a] = Σ_s Σ_b p[s] R[s, a, b] e[b], [B, C, D]
at::Tensor contract(const at::Tensor& memory, const at::Tensor& slots, const at::Tensor& patterns,
                    ReadSide side);

/// The same of S, from its factors.
at::Tensor contract(const Associations& s, const at::Tensor& slots, const at::Tensor& patterns,
                    ReadSide side);

/// The linear map G1 of the transfer (Le et al. 2020, eq. 13), without its bias, of a memory
/// [B or 1, N, D, E]: T[b, o] = Σ_s Σ_a R[s, a, b] G1[o, s D + a]. weight [O, N D] -> [B or 1, E,
/// O].
at::Tensor transfer(const at::Tensor& memory, const at::Tensor& weight);

/// The factors of the same of S: T = Σ_j v_j ⊗ w_j with w_j = G1 f_j, [B, Nk, O].
at::Tensor transfer_factors(const Associations& s, const at::Tensor& weight,
                            Precision precision = Precision::kFloat32);

/// The linear map G2 of the distillation (Le et al. 2020, eq. 14), without its bias, of a memory
/// [B, N, D, E]: weight [R, D E] -> [B, N, R].
at::Tensor distil(const at::Tensor& memory, const at::Tensor& weight);

/// The same of S. On the CPU in float S is formed for a few b at a time, in the forward pass and
/// again in the backward pass, and never stored. S is a sum of float products; `precision` is that
/// of the products with the weight.
at::Tensor distil(const Associations& s, const at::Tensor& weight,
                  Precision precision = Precision::kFloat32);

/// What the gates of an item memory are.
///   kSigmoid  the authors' code: gates pass a sigmoid, what is written passes tanh
///   kLinear   the paper: neither does. The forget gate may then be as large as x, and the memory
///             grows by that factor in every step: inputs of some 100 overflow within a dozen steps
enum class GateForm { kSigmoid, kLinear };
constexpr std::array<std::string_view, 2> enum_names(GateForm) {
  return {"sigmoid", "linear"};
}

/// The gated write of an item memory (Le et al. 2020, eq. 10 and appendix D):
///   X = left ⊗ right,  [I, F] = tanh(M) Uᵀ + g,  M' = F ⊙ M + I ⊙ X,
/// with σ around the gates and tanh around X for kSigmoid. memory [B, D, D], left and right [B, D],
/// gate_weight U [2D, D], gate_input g [B, 2D], the same for every row of M -> [B, D, D]. The
/// paper's own gates are U tanh(M) + g: this write of the transposed memory, with right for left.
/// `precision` is that of the product with U. Differentiable in all five. Throws UsageError on a
/// shape or dtype mismatch.
at::Tensor gated_write(const at::Tensor& memory, const at::Tensor& left, const at::Tensor& right,
                       const at::Tensor& gate_weight, const at::Tensor& gate_input, GateForm form,
                       Precision precision = Precision::kFloat32);

}  // namespace tessera::ops
