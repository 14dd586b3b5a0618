#include "lab/learner/pong/pong_network.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <numbers>

#include "tessera/memory/make_linear.h"
#include "tessera/model/initialisation.h"
#include "tessera/tensor/check.h"

namespace tessera::task {
namespace {

constexpr double kPolicyLength = 0.01, kValueLength = 1;  // of the rows of these maps, at first

/// Rows and columns after a convolution and its 2 x 2 maxima.
int64_t reduced(int64_t size, int64_t kernel, int64_t padding) {
  return (size + 2 * padding - kernel + 1) / 2;
}

/// Uniform with the deviation √(2 / (inputs + outputs)) (Glorot & Bengio 2010), times gain.
void draw_glorot(Initialiser& draw, const at::Tensor& weight, double gain = 1) {
  const int64_t field = weight.dim() > 2 ? weight[0][0].numel() : 1;  // values of one kernel
  const double bound =
      gain * std::sqrt(6.0 / static_cast<double>(field * (weight.size(0) + weight.size(1))));
  draw.uniform(weight, -bound, bound);
}

/// Directions at random, each row of this length.
void draw_rows(Initialiser& draw, const torch::nn::Linear& map, double length) {
  draw.normal(map, 1);
  map->weight.mul_(length / map->weight.norm(2, {1}, /*keepdim=*/true));
}

}  // namespace

void PongAgentConfig::check(int64_t size) const {
  config::check_demands(*this, "agent");
  if (channels.empty() || channels.size() != kernels.size() || channels.size() != paddings.size())
    throw UsageError(
        "agent.channels, agent.kernels and agent.paddings have {}, {} and {} numbers, expected one "
        "for each convolution",
        channels.size(), kernels.size(), paddings.size());
  for (size_t i = 0; i < channels.size(); ++i) {
    check_argument(paddings[i] < kernels[i],
                   "agent.paddings[{}] is {}, expected less than the kernels' width, {}", i,
                   paddings[i], kernels[i]);
    size = reduced(size, kernels[i], paddings[i]);
    if (size < 1)
      throw UsageError(
          "agent: nothing is left of a frame after convolution {}; give larger frames, fewer "
          "convolutions or smaller kernels",
          i + 1);
  }
  stm().check();
}

int64_t PongAgentConfig::features(int64_t size) const {
  for (size_t i = 0; i < channels.size(); ++i) size = reduced(size, kernels[i], paddings[i]);
  return channels.back() * size * size;
}

StmConfig PongAgentConfig::stm() const {
  StmConfig config;
  config.inputs = hidden;
  config.outputs = outputs;
  config.slots = slots;
  config.width = width;
  config.distilled = distilled;
  config.variant = StmVariant::kReinforcement;
  return config;
}

void PongNetworkConfig::check() const {
  config::check_demands(*this, "model");
  agent.check(size);
}

PongNetwork::PongNetwork(const PongNetworkConfig& config, std::optional<uint64_t> seed,
                         at::Device device)
    : config_(config::checked(config)),
      agent_(register_module("agent", std::make_shared<torch::nn::Module>())) {
  const PongAgentConfig& sizes = config.agent;
  const auto linear = [&](const char* name, int64_t inputs, int64_t outputs) {
    return agent_->register_module(name, make_linear(inputs, outputs, /*with_bias=*/true, device));
  };
  int64_t in = 1;
  for (size_t i = 0; i < sizes.channels.size(); ++i) {
    const int64_t out = sizes.channels[i], k = sizes.kernels[i];
    const std::string name = "convolution_" + std::to_string(i);
    kernels_.push_back(
        agent_->register_parameter(name + "_weight", at::zeros({out, in, k, k}, device)));
    biases_.push_back(agent_->register_parameter(name + "_bias", at::zeros({out}, device)));
    in = out;
  }
  input_ = linear("input", sizes.features(config.size), 4 * sizes.hidden);
  recurrent_ = linear("recurrent", sizes.hidden, 4 * sizes.hidden);
  int64_t said = sizes.hidden;
  if (sizes.memory == PongMemory::kStm) {
    stm_ = agent_->register_module("stm", std::make_shared<Stm>(sizes.stm(), std::nullopt, device));
    said += sizes.outputs;
  }
  policy_ = linear("policy", said, config.actions);
  value_ = linear("value", said, 1);
  if (seed) initialise(*seed);
}

at::Tensor PongNetwork::placed(const at::Tensor& frames) const {
  check_shape(frames, {-1, -1, config_.size * config_.size}, "PongNetwork: frames");
  return frames;
}

StateParts PongNetwork::state_parts() const {
  const int64_t H = config_.agent.hidden, D = config_.agent.width;
  StateParts parts = {{"hidden", {H}}, {"cell", {H}}};
  if (stm_) parts.push_back({"item", {D, D}});
  return parts;
}

PongNetwork::State PongNetwork::first_state(int64_t W) const {
  const at::Tensor zeros = at::zeros({W, config_.agent.hidden}, kernels_.front().options());
  State state = {zeros, zeros};
  if (stm_) state.push_back(stm_->cell->initial_state(W).item);
  return state;
}

PongNetwork::State PongNetwork::restart(const State& state, const at::Tensor& continues) const {
  const at::Tensor keep = continues.unsqueeze(1);
  State begun = {state[kHidden] * keep, state[kCell] * keep};
  if (stm_)
    begun.push_back(at::where(keep.unsqueeze(2) > 0, state[kItem],
                              stm_->cell->initial_state(continues.size(0)).item));
  return begun;
}

at::Tensor PongNetwork::features(const at::Tensor& frames) const {
  at::Tensor x = frames.unsqueeze(1);
  for (size_t i = 0; i < kernels_.size(); ++i)
    x = at::relu(at::max_pool2d(
        at::conv2d(x, kernels_[i], biases_[i], /*stride=*/1, config_.agent.paddings[i]), 2));
  return x.flatten(1);
}

PongNetwork::Answer PongNetwork::answer(const at::Tensor& frames, State& state) {
  check_shape(frames, {-1, config_.size, config_.size}, "PongNetwork: frames");
  const int64_t W = frames.size(0);
  check_shape(state[kHidden], {W, config_.agent.hidden}, "PongNetwork: the state's hidden part");
  const at::Tensor before[] = {state[kHidden], state[kCell]};
  const auto [hidden, cell] = at::lstm_cell(features(frames), before, input_->weight,
                                            recurrent_->weight, input_->bias, recurrent_->bias);
  at::Tensor said = hidden;
  if (stm_) {
    // The relational memory is not read: any will do.
    const Stm::Sequence next = stm_->run(
        hidden.unsqueeze(1), TwoMemoryState{state[kItem], stm_->cell->initial_state(W).relational});
    said = at::cat({next.outputs.squeeze(1), hidden}, 1);
    state[kItem] = next.state.item;
  }
  state[kHidden] = hidden;
  state[kCell] = cell;
  return {policy_->forward(said), value_->forward(said).squeeze(1)};
}

at::Tensor PongNetwork::outputs(const at::Tensor& frames, State& state, int64_t first_output) {
  const int64_t B = frames.size(0), T = frames.size(1), size = config_.size;
  std::vector<at::Tensor> outputs = {at::zeros({B, 0, config_.actions + 1}, frames.options())};
  for (int64_t t = 0; t < T; ++t) {
    const auto [logits, values] = answer(frames.select(1, t).reshape({B, size, size}), state);
    if (t >= first_output)
      outputs.push_back(at::cat({logits, values.unsqueeze(1)}, 1).unsqueeze(1));
  }
  return at::cat(outputs, 1);
}

/// As the authors: Glorot's for convolutions (times √2, for ReLU) and linear maps, all biases 0,
/// policies nearly even at first.
/// Differs from the authors' code: what the LSTM reads is weighted with ±1/√features and not with
/// ±1/√hidden, which saturates the gates of a small LSTM that reads many features.
void PongNetwork::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  if (stm_) stm_->initialise(*derived_seed(seed, 1));
  Initialiser draw(seed);
  for (const at::Tensor& kernel : kernels_) draw_glorot(draw, kernel, std::numbers::sqrt2);
  for (const auto& module : agent_->modules(/*include_self=*/false))
    if (const auto* map = module->as<torch::nn::Linear>()) {
      draw_glorot(draw, map->weight);
      map->bias.zero_();
    }
  for (const auto& map : {input_, recurrent_}) {
    const double bound = 1 / std::sqrt(static_cast<double>(map->weight.size(1)));
    draw.uniform(map->weight, -bound, bound);
  }
  draw_rows(draw, policy_, kPolicyLength);
  draw_rows(draw, value_, kValueLength);
}

}  // namespace tessera::task
