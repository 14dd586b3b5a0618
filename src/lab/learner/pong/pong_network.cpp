#include "lab/learner/pong/pong_network.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>

#include "lab/baseline/tensor_state.h"
#include "tessera/tensor/check.h"

namespace tessera::task {
namespace {

PongAgentState as_agent_state(const TensorState& state, bool has_item) {
  return {state.part(0), state.part(1), has_item ? state.part(2) : at::Tensor()};
}

SequenceState as_sequence_state(const PongAgentState& state) {
  NamedTensors parts = {{"hidden", state.hidden}, {"cell", state.cell}};
  if (state.item.defined()) parts.emplace_back("item", state.item);
  return SequenceState(TensorState(std::move(parts)));
}

}  // namespace

PongNetwork::PongNetwork(const PongNetworkConfig& config, std::optional<uint64_t> seed,
                         at::Device device)
    : PongNetwork(config, PongAgent(config.agent, config.size, config.actions, seed, device)) {}

PongNetwork::PongNetwork(const PongNetworkConfig& config, PongAgent of_workers)
    : agent(register_module("agent", std::move(of_workers))), config_(config) {}

config::Json PongNetwork::hyper_parameters() const {
  return config::to_json(config_);
}

/// The outputs of the steps from first_output on; `state` becomes that after the last one.
at::Tensor PongNetwork::run(const at::Tensor& frames, PongAgentState& state, int64_t first_output) {
  const int64_t B = frames.size(0), T = frames.size(1), size = config_.size;
  std::vector<at::Tensor> outputs;
  for (int64_t t = 0; t < T; ++t) {
    const auto [logits, values, after] =
        agent->step(frames.select(1, t).reshape({B, size, size}), state);
    state = after;
    if (t >= first_output) outputs.push_back(at::cat({logits, values.unsqueeze(1)}, 1));
  }
  if (outputs.empty()) return at::zeros({B, 0, config_.actions + 1}, frames.options());
  return at::stack(outputs, 1);  // [B, T - first_output, actions + 1]
}

at::Tensor PongNetwork::forward(const at::Tensor& frames, std::optional<uint64_t>,
                                int64_t first_output) {
  check_shape(frames, {-1, -1, config_.size * config_.size}, "PongNetwork: frames");
  check_first_output(first_output, frames.size(1));
  PongAgentState state = agent->initial_state(frames.size(0));
  return run(frames, state, first_output);
}

SequenceState PongNetwork::empty_state() const {
  return SequenceState(TensorState());
}

SequenceOutput PongNetwork::read(const at::Tensor& frames, SequenceState&& state,
                                 int64_t first_output) {
  at::NoGradGuard no_grad;
  check_shape(frames, {-1, -1, config_.size * config_.size}, "PongNetwork: frames");
  check_first_output(first_output, frames.size(1));
  const auto& before = state.as<TensorState>();
  PongAgentState values = agent->initial_state(frames.size(0));
  if (before.rows() > 0) {
    TESSERA_CHECK(before.rows() == frames.size(0), "PongNetwork: frames of ", frames.size(0),
                  " games, the state is that of ", before.rows());
    values = as_agent_state(before, values.item.defined());
  }
  const at::Tensor outputs = run(frames, values, first_output);
  if (frames.size(1) == 0) return {outputs, std::move(state)};
  return {outputs, as_sequence_state(values)};
}

SequenceState PongNetwork::state_from(const TensorFile& file, const SequenceState&) const {
  const PongAgentState one = agent->initial_state(1);
  const int64_t B = file.at("hidden", {-1, one.hidden.size(1)}, at::kFloat).size(0);
  const auto part = [&](const std::string& name, const at::Tensor& like) {
    std::vector<int64_t> sizes = like.sizes().vec();
    sizes[0] = B;
    return file.at(name, sizes, at::kFloat);
  };
  PongAgentState state = {part("hidden", one.hidden), part("cell", one.cell), {}};
  if (one.item.defined()) state.item = part("item", one.item);
  return as_sequence_state(state);
}

void PongNetwork::initialise(uint64_t seed) {
  agent->initialise(seed);
}

ModelKind pong_network_kind() {
  return model_kind_of<PongNetwork>("agent that plays Pong; reads frames");
}

}  // namespace tessera::task
