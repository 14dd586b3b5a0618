#include "lab/baseline/gated_deltanet.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "tessera/memory/make_linear.h"
#include "tessera/model/initialisation.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// One chunk; q, k [B, H, T, D], v [B, H, T, E], log_decays, rates [B, H, T].
///
/// With G_t the product of the decays of the chunk up to t, S_t = G_t S_0 + sum_{i <= t}
/// (G_t / G_i) k_i u_i^T, where u_t = beta_t (v_t - (alpha_t S_{t-1})^T k_t) is what step t adds:
///   u_t + beta_t sum_{i < t} (G_t / G_i) (k_t . k_i) u_i = beta_t (v_t - G_t S_0^T k_t),
/// a triangular system.
Retained delta_chunk(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                     const at::Tensor& log_decays, const at::Tensor& rates,
                     const at::Tensor& state) {
  const at::Tensor log_products = log_decays.cumsum(2).unsqueeze(3);  // [B, H, T, 1]
  const at::Tensor since_start = log_products.exp(), beta = rates.unsqueeze(3);
  const at::Tensor ratios =                                                     // G_t / G_i
      (log_products - log_products.transpose(2, 3)).clamp_max(0).exp().tril();  // [B, H, T, T]
  const at::Tensor keys_t = k.transpose(2, 3), until_end = ratios.select(2, -1).unsqueeze(3);
  const at::Tensor lower = (beta * at::matmul(k, keys_t) * ratios).tril(-1);
  const at::Tensor wanted = beta * (v - since_start * at::matmul(k, state));  // [B, H, T, E]
  const at::Tensor added = at::linalg_solve_triangular(lower, wanted, /*upper=*/false,
                                                       /*left=*/true, /*unitriangular=*/true);
  const at::Tensor reads =
      at::matmul(at::matmul(q, keys_t) * ratios, added) + since_start * at::matmul(q, state);
  return {reads, since_start.narrow(2, -1, 1) * state + at::matmul(keys_t, until_end * added)};
}

}  // namespace

Retained gated_delta_rule(const at::Tensor& queries, const at::Tensor& keys,
                          const at::Tensor& values, const at::Tensor& log_decays,
                          const at::Tensor& rates, const at::Tensor& state, int64_t chunk) {
  check_chunks(queries, keys, values, state, chunk, "gated_delta_rule");
  const int64_t B = queries.size(0), T = queries.size(1), H = queries.size(2);
  check_like(log_decays, {B, T, H}, queries, "gated_delta_rule: log_decays");
  check_like(rates, {B, T, H}, queries, "gated_delta_rule: rates");
  return read_in_chunks(queries, values, state, chunk,
                        [&](const StepsOfChunk& steps, const at::Tensor& before) {
                          return delta_chunk(steps(queries), steps(keys), steps(values),
                                             steps(log_decays), steps(rates), before);
                        });
}

}  // namespace tessera::ops

namespace tessera {
namespace {

constexpr int64_t kConvolved = 4;  // steps
constexpr const char* kConvolution = "convolution";

/// x over its root mean square, times a gain.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& gain) {
  constexpr double kEpsilon = 1e-5;
  return x * (x.square().mean(-1, /*keepdim=*/true) + kEpsilon).rsqrt() * gain;
}

at::Tensor unit_vectors(const at::Tensor& x) {
  constexpr double kEpsilon = 1e-6;
  return x * (x.square().sum(-1, /*keepdim=*/true) + kEpsilon).rsqrt();
}

/// Each channel by itself: x [B, 3 + T, channels], weight [4, channels] -> [B, T, channels].
at::Tensor convolve(const at::Tensor& x, const at::Tensor& weight) {
  const int64_t T = x.size(1) - (kConvolved - 1);
  at::Tensor sum = x.narrow(1, 0, T) * weight[0];
  for (int64_t step = 1; step < kConvolved; ++step)
    sum = at::addcmul(sum, x.narrow(1, step, T), weight[step]);
  return sum;
}

}  // namespace

void GatedDeltaNetConfig::check() const {
  config::check_demands(*this, "model");
  if (3 * channels % (4 * heads) != 0)
    throw UsageError(
        "model.heads is {} of {} channels: a key has 3/4 * channels / heads of them, expected a "
        "whole number",
        heads, channels);
}

GatedDeltaNetBlockImpl::GatedDeltaNetBlockImpl(const GatedDeltaNetConfig& config, at::Device device)
    : RecurrentBlock("gated_deltanet", config.dropout,
                     {{"retained", {config.heads, config.key_width(), 2 * config.key_width()}},
                      {"recent", {kConvolved - 1, 3 * config.channels}}}),
      config_(config) {
  const int64_t C = config.channels, H = config.heads;
  const auto linear = [&](int64_t in, int64_t out) {
    return make_linear(in, out, config.bias, device);
  };
  const auto gain = [&](const char* name, int64_t width) {
    return register_parameter(name, at::ones({width}, device));
  };
  delta_norm = gain("delta_norm", C);
  query_key_value_gate = register_module("query_key_value_gate", linear(C, 9 * C / 2));
  decay_and_rate = register_module("decay_and_rate", make_linear(C, 2 * H, false, device));
  convolution = register_parameter(kConvolution, at::zeros({kConvolved, 3 * C}, device));
  log_decay_factor = register_parameter("log_decay_factor", at::zeros({H}, device));
  decay_bias = register_parameter("decay_bias", at::zeros({H}, device));
  read_norm = gain("read_norm", 2 * config.key_width());
  delta_output = register_module("delta_output", linear(3 * C / 2, C));
  feed_forward_norm = gain("feed_forward_norm", C);
  expand = register_module("expand", linear(C, 4 * C));
  contract = register_module("contract", linear(2 * C, C));
}

std::pair<at::Tensor, TensorState> GatedDeltaNetBlockImpl::remember(const at::Tensor& x,
                                                                    const State& state) {
  const int64_t C = config_.channels, H = config_.heads, D = config_.key_width();
  const at::Tensor normed = rms_norm(x, delta_norm);
  const at::Tensor all = mapped(normed, query_key_value_gate, config_.precision);
  const bool begun = state.rows() > 0;
  const at::Tensor earlier =
      begun ? state.part(kRecent) : all.new_zeros({x.size(0), kConvolved - 1, 3 * C});
  const at::Tensor unconvolved = at::cat({earlier, all.narrow(2, 0, 3 * C)}, 1);
  const at::Tensor convolved = at::silu(convolve(unconvolved, convolution));  // [B, T, 3C]
  const auto heads = [&](int64_t first, int64_t width) {
    return convolved.narrow(2, first, H * width).unflatten(-1, {H, width});  // [B, T, H, D or 2D]
  };
  const auto rates = mapped(normed, decay_and_rate, config_.precision).chunk(2, 2);
  const at::Tensor log_decays = -log_decay_factor.exp() * at::softplus(rates[0] + decay_bias);
  const auto retained =
      ops::gated_delta_rule(unit_vectors(heads(0, D)) / std::sqrt(D), unit_vectors(heads(H * D, D)),
                            heads(2 * H * D, 2 * D), log_decays, rates[1].sigmoid(),
                            begun ? state.part(kRetained) : at::Tensor());  // [B, T, H, 2D]
  const at::Tensor recent =  // without the steps before, whose memory it would share
      unconvolved.narrow(1, x.size(1), kConvolved - 1).clone();
  const at::Tensor gated =
      at::silu(all.narrow(2, 3 * C, 3 * C / 2)) * rms_norm(retained.reads, read_norm).flatten(2);
  return {mapped(gated, delta_output, config_.precision),
          TensorState({{"retained", retained.state}, {"recent", recent}})};
}

at::Tensor GatedDeltaNetBlockImpl::feed_forward(const at::Tensor& x) {
  const auto wide = mapped(rms_norm(x, feed_forward_norm), expand, config_.precision).chunk(2, -1);
  return mapped(at::silu(wide[0]) * wide[1], contract, config_.precision);
}

GatedDeltaNet::GatedDeltaNet(const GatedDeltaNetConfig& config, std::optional<uint64_t> seed,
                             at::Device device)
    : RecurrentBlockNetwork(config, device) {
  if (seed) initialise(*seed);
}

std::vector<std::string> GatedDeltaNet::weight_matrices() const {
  std::vector<std::string> names = BlockNetwork::weight_matrices();
  std::erase_if(names, [](const std::string& name) { return name.ends_with(kConvolution); });
  return names;
}

void GatedDeltaNet::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  Initialiser draw(seed);
  constexpr double kDeviation = 0.02;
  const double output_deviation = kDeviation / std::sqrt(2.0 * config_.layers);
  draw.normal(embedding_, kDeviation);
  norm_->reset_parameters();
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    GatedDeltaNetBlock one = block(layer);
    for (const at::Tensor& gain : {one->delta_norm, one->read_norm, one->feed_forward_norm})
      gain.fill_(1);
    draw.normal(one->query_key_value_gate, 1 / std::sqrt(config_.channels));
    draw.normal(one->decay_and_rate, kDeviation);
    draw.uniform(one->convolution, -0.5, 0.5);
    constexpr double kLeastFactor = 1e-4;  // of the decay, for its logarithm
    draw.uniform(one->log_decay_factor, 0, 16);
    one->log_decay_factor.clamp_min_(kLeastFactor).log_();
    draw.uniform(one->decay_bias, std::log(1e-3), std::log(0.1));
    one->decay_bias.exp_().expm1_().log_();  // softplus of it is what was drawn
    draw.normal(one->expand, kDeviation);
    draw.normal(one->delta_output, output_deviation);
    draw.normal(one->contract, output_deviation);
  }
}

}  // namespace tessera
