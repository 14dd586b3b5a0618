#include "lab/baseline/fast_weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "tessera/memory/make_linear.h"
#include "tessera/ops/batched_product.h"

namespace tessera {
namespace {

constexpr double kFirstRecurrence = 0.05;

}  // namespace

RecurrentNetwork::Layout FastWeights::layout_of(const FastWeightsConfig& config) {
  const int64_t H = config.hidden;
  return {config.inputs,
          H,
          config.outputs,
          {{"hidden", {H}}, {"fast_weights", {H, H}, /*learned=*/false}}};
}

FastWeights::FastWeights(const FastWeightsConfig& config, std::optional<uint64_t> seed,
                         at::Device device)
    : ConfiguredNetwork(config, device),
      input_(register_module(
          "input", make_linear(config.inputs, config.hidden, /*with_bias=*/true, device))),
      recurrent_(register_module(
          "recurrent", make_linear(config.hidden, config.hidden, /*with_bias=*/false, device))),
      norm_(register_module("norm", Norm(config.hidden, /*with_bias=*/true, device))) {
  if (seed) initialise(*seed);
}

at::Tensor FastWeights::advance(const at::Tensor& projected, Parts& state) {
  const at::Tensor before = state[kHidden];
  const at::Tensor fast_weights = ops::batched_product(  // eq. 1
      config_.rate * before.unsqueeze(2), before.unsqueeze(1), config_.decay * state[kFastWeights]);
  const at::Tensor boundary = projected.addmm(before, recurrent_->weight.t());
  at::Tensor hidden = boundary.relu();  // [B, H]
  for (int64_t s = 0; s < config_.inner_steps; ++s) {
    const at::Tensor attended = ops::batched_product(fast_weights, hidden.unsqueeze(2)).squeeze(2);
    hidden = norm_->forward(boundary + attended).relu();
  }
  state = {hidden, fast_weights};
  return hidden;
}

void FastWeights::initialise(uint64_t seed) {
  StepwiseNetwork::initialise(seed);
  at::NoGradGuard no_grad;
  const int64_t H = config_.hidden;
  recurrent_->weight.copy_(kFirstRecurrence * at::eye(H));
}

}  // namespace tessera
