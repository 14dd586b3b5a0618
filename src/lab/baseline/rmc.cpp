#include "lab/baseline/rmc.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/modules/activation.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/memory/make_linear.h"
#include "tessera/ops/batched_product.h"

namespace tessera {
namespace {

constexpr double kForgetBias = 1;  // so that the memory is kept at the start, as in Sonnet

}  // namespace

void RmcConfig::check() const {
  if (width() > kLargestSize)
    throw UsageError(
        "model.heads is {} and model.head_width {}: a row would have more than {} values", heads,
        head_width, kLargestSize);
  check_product(
      {{"slots", slots}, {"heads", heads}, {"head_width", head_width}, {"outputs", outputs}});
}

RecurrentNetwork::Layout Rmc::layout_of(const RmcConfig& config) {
  return {config.inputs,
          config.slots * config.width(),
          config.outputs,
          {{"memory", {config.slots, config.width()}}}};
}

int64_t Rmc::gate_width() const {
  return config_.gates == RmcGates::kUnit ? config_.width() : 1;
}

Rmc::Rmc(const RmcConfig& config, std::optional<uint64_t> seed, at::Device device)
    : ConfiguredNetwork(config, device) {
  const int64_t C = config.width();
  const auto linear = [&](int64_t in, int64_t out) {
    return make_linear(in, out, /*with_bias=*/true, device);
  };
  projection_norm_ = register_module("projection_norm", Norm(3 * C, true, device));
  attention_norm_ = register_module("attention_norm", Norm(C, true, device));
  mlp_norm_ = register_module("mlp_norm", Norm(C, true, device));
  input_ = register_module("input", linear(config.inputs, C));
  projection_ = register_module("projection", linear(C, 3 * C));
  for (int64_t layer = 0; layer < config.mlp_layers; ++layer) {
    if (layer > 0) mlp_->push_back(torch::nn::ReLU());
    mlp_->push_back(linear(C, C));
  }
  register_module("mlp", mlp_);
  memory_gate_ = register_module("memory_gate", linear(C, 2 * gate_width()));
  input_gate_ = register_module("input_gate", linear(C, 2 * gate_width()));
  if (seed) initialise(*seed);
}

/// The input's query, key and value, then its share of the gates: [T, B, 3C + 2G].
at::Tensor Rmc::project(const at::Tensor& x) {
  const at::Tensor input = input_->forward(x);
  return at::cat(
      {projection_norm_->forward(projection_->forward(input)), input_gate_->forward(input)}, 2);
}

/// What the rows of the memory [B, N, C] find in one another and in the input, of which `input`
/// [B, 3C] has key and value: [B, N, C].
at::Tensor Rmc::attended(const at::Tensor& memory, const at::Tensor& input) {
  const int64_t B = memory.size(0), N = memory.size(1), D = config_.head_width;
  const at::Tensor rows = projection_norm_->forward(projection_->forward(memory));
  const at::Tensor all = at::cat({rows, input.unsqueeze(1)}, 1)
                             .view({B, N + 1, config_.heads, 3 * D})
                             .transpose(1, 2)
                             .flatten(0, 1);  // [B heads, N + 1, 3D]
  const at::Tensor queries = all.narrow(1, 0, N).narrow(2, 0, D) / std::sqrt(D);
  const at::Tensor keys = all.narrow(2, D, D), values = all.narrow(2, 2 * D, D);
  const at::Tensor weights =  // [B heads, N, N + 1]
      ops::batched_product(queries, keys.transpose(1, 2)).softmax(2);
  return ops::batched_product(weights, values)
      .view({B, config_.heads, N, D})
      .transpose(1, 2)
      .flatten(2);
}

at::Tensor Rmc::advance(const at::Tensor& projected, Parts& state) {
  const at::Tensor memory = state.front();  // [B, N, C]
  const auto parts = projected.split_with_sizes({3 * config_.width(), 2 * gate_width()}, 1);
  at::Tensor next = attention_norm_->forward(memory + attended(memory, parts[0]));
  next = mlp_norm_->forward(next + mlp_->forward(next));
  const auto gates =  // i and f: [B, N, C or 1]
      (memory_gate_->forward(memory.tanh()) + parts[1].unsqueeze(1)).chunk(2, 2);
  next = gates[0].sigmoid() * next.tanh() + (gates[1] + kForgetBias).sigmoid() * memory;
  state = {next};
  return next.flatten(1);
}

void Rmc::initialise(uint64_t seed) {
  StepwiseNetwork::initialise(seed);
  at::NoGradGuard no_grad;
  at::Tensor(first(0)).copy_(at::eye(config_.slots, config_.width()));
}

}  // namespace tessera
