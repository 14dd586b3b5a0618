#include "lab/baseline/retnet.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "tessera/memory/make_linear.h"
#include "tessera/model/initialisation.h"
#include "tessera/ops/rotary.h"
#include "tessera/tensor/check.h"

namespace tessera {

void RetNetConfig::check() const {
  config::check_demands(*this, "model");
  check_heads(heads, channels);
  if (channels / heads % 2 != 0)
    throw UsageError("model.heads is {}: rotary positions need an even number of channels a head",
                     heads);
}

RetNetBlockImpl::RetNetBlockImpl(const RetNetConfig& config, at::Device device)
    : RecurrentBlock(
          "retnet", config.dropout,
          {{"retained",
            {config.heads, config.channels / config.heads, 2 * config.channels / config.heads}},
           {.name = "steps", .sizes = {}, .type = at::kLong}}),
      config_(config) {
  const auto linear = [&](int64_t in, int64_t out) {
    return make_linear(in, out, config.bias, device);
  };
  const int64_t C = config.channels;
  retention_norm = register_module("retention_norm", Norm(C, config.bias, device));
  query_key_value_gate = register_module("query_key_value_gate", linear(C, 6 * C));
  retention_output = register_module("retention_output", linear(2 * C, C));
  feed_forward_norm = register_module("feed_forward_norm", Norm(C, config.bias, device));
  expand = register_module("expand", linear(C, 2 * C));
  contract = register_module("contract", linear(2 * C, C));
  decays_ = 1 - at::pow(2.0, -5 - at::arange(config.heads, at::kDouble));
}

std::pair<at::Tensor, TensorState> RetNetBlockImpl::remember(const at::Tensor& x,
                                                             const State& state) {
  const int64_t C = config_.channels, H = config_.heads, D = C / H;
  const at::Tensor all =
      mapped(retention_norm->forward(x), query_key_value_gate, config_.precision);
  const auto heads = [&](int64_t first, int64_t width) {
    return all.narrow(2, first, width).unflatten(-1, {H, width / H});  // [B, T, H, D or 2D]
  };
  const bool begun = state.rows() > 0;
  const at::Tensor steps = begun ? state.part(kSteps) : at::zeros({x.size(0)}, at::kLong);
  const std::vector<int64_t> positions(steps.data_ptr<int64_t>(),
                                       steps.data_ptr<int64_t>() + steps.numel());
  const at::Tensor queries = ops::rotary(heads(0, C), positions);
  const at::Tensor keys = ops::rotary(heads(C, C), positions) / std::sqrt(D);
  const auto [reads, retained] =
      ops::retention(queries, keys, heads(2 * C, 2 * C), decays_.to(x.options()),
                     begun ? state.part(kRetained) : at::Tensor());
  constexpr double kEpsilon = 1e-5;
  const at::Tensor normed = at::layer_norm(reads, {2 * D}, {}, {}, kEpsilon).flatten(2);
  const at::Tensor gated = at::silu(all.narrow(2, 4 * C, 2 * C)) * normed;  // [B, T, 2C]
  return {mapped(gated, retention_output, config_.precision),
          TensorState({{"retained", retained}, {"steps", steps + x.size(1)}})};
}

at::Tensor RetNetBlockImpl::feed_forward(const at::Tensor& x) {
  const at::Tensor wide =
      at::gelu(mapped(feed_forward_norm->forward(x), expand, config_.precision));
  return mapped(wide, contract, config_.precision);
}

RetNet::RetNet(const RetNetConfig& config, std::optional<uint64_t> seed, at::Device device)
    : RecurrentBlockNetwork(config, device) {
  if (seed) initialise(*seed);
}

void RetNet::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  Initialiser draw(seed);
  constexpr double kDeviation = 0.02;
  const double output_deviation = kDeviation / std::sqrt(2.0 * config_.layers);
  draw.normal(embedding_, kDeviation);
  norm_->reset_parameters();
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    RetNetBlock one = block(layer);
    one->retention_norm->reset_parameters();
    one->feed_forward_norm->reset_parameters();
    draw.normal(one->query_key_value_gate, 1 / std::sqrt(config_.channels));
    draw.normal(one->expand, kDeviation);
    draw.normal(one->retention_output, output_deviation);
    draw.normal(one->contract, output_deviation);
  }
}

}  // namespace tessera
