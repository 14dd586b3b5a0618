#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>

namespace tessera::ops {

/// What the gates of an item memory are.
///   kSigmoid  the authors' code: gates pass a sigmoid, what is written passes tanh
///   kLinear   the paper: neither does
enum class GateForm { kSigmoid, kLinear };
constexpr std::array<std::string_view, 2> enum_names(GateForm) {
  return {"sigmoid", "linear"};
}

/// The gated write of an item memory (Le et al. 2020, eq. 10 and appendix D):
///   X = left ⊗ right,  [I, F] = tanh(M) Uᵀ + g,  M' = F ⊙ M + I ⊙ X,
/// with σ around the gates and tanh around X for kSigmoid. memory [B, D, D], left and right [B, D],
/// gate_weight U [2D, D], gate_input g [B, 2D], the same for every row of M -> [B, D, D].
/// Differentiable in all five. Throws UsageError on a shape or dtype mismatch.
at::Tensor gated_write(const at::Tensor& memory, const at::Tensor& left, const at::Tensor& right,
                       const at::Tensor& gate_weight, const at::Tensor& gate_input, GateForm form);

}  // namespace tessera::ops
