#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include "tessera/memory/relational/equations.h"

namespace tessera {

/// The item memory M [B, D, D]: an associative memory that each step writes one outer product into,
/// through gates (Le et al. 2020, eq. 9, 10 and appendix D).
/// Differs from the paper with GateForm::kSigmoid: the gates see f1(x), not x; they and what is
/// written are squashed; their maps have biases beside the two scalars, of which the forget gate's
/// starts at 1. Without gates there is no squashing either.
class ItemMemoryImpl : public torch::nn::Module {
 public:
  ItemMemoryImpl(const TwoMemoryOptions& options, at::Device device);

  /// What the input adds to the gates of every row, [T, B, 2D]: the gates of the paper see x
  /// [T, B, in], those of the code content [T, B, D], which is f1(x). Undefined without gates.
  at::Tensor gate_inputs(const at::Tensor& x, const at::Tensor& content);
  /// One write: memory [B, D, D], left and right [B, D] (the outer product), gate_input [B, 2D] ->
  /// [B, D, D].
  at::Tensor write(const at::Tensor& memory, const at::Tensor& left, const at::Tensor& right,
                   const at::Tensor& gate_input) const;

  torch::nn::Linear input_gate = nullptr;  ///< [2D, in or D]; none without gates, as the next three
  torch::nn::Linear memory_gate = nullptr;  ///< [2D, D]
  at::Tensor input_bias, forget_bias;       ///< scalars
  at::Tensor initial;                       ///< M before the first step, [D, D]

 private:
  TwoMemoryOptions options_;
};
TORCH_MODULE(ItemMemory);

}  // namespace tessera
