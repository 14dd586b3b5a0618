#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include "tessera/ops/layer_norm.h"

namespace tessera {

/// Layer normalisation over channels with a gain and an optional bias (torch::nn::LayerNorm has
/// both or none), epsilon 1e-5. x [.., C] -> [.., C].
class NormImpl : public torch::nn::Module {
 public:
  static constexpr double kEpsilon = 1e-5;

  NormImpl(int64_t channels, bool with_bias, at::Device device) {
    weight = register_parameter("weight", at::ones({channels}, device));
    if (with_bias) bias = register_parameter("bias", at::zeros({channels}, device));
  }
  void reset() {
    at::NoGradGuard no_grad;
    weight.fill_(1.0);
    if (bias.defined()) bias.zero_();
  }
  at::Tensor forward(const at::Tensor& x) { return ops::layer_norm(x, weight, bias, kEpsilon); }

  at::Tensor weight;  ///< [C]
  at::Tensor bias;    ///< [C] or undefined
};
TORCH_MODULE(Norm);

}  // namespace tessera
