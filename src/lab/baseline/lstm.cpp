#include "lab/baseline/lstm.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/model/initialisation.h"

namespace tessera {
namespace {

/// Where TensorState keeps what.
enum Place : size_t { kHidden, kCell };

}  // namespace

void LstmConfig::check() const {
  config::check_demands(*this, "model");
  check_dropout_probability(dropout);
}

Lstm::Lstm(const LstmConfig& config, std::optional<uint64_t> seed, at::Device device)
    : config_(config) {
  config.check();
  embedding_ =
      register_parameter("embedding", at::zeros({config.vocabulary, config.channels}, device));
  for (int64_t layer = 0; layer < config.layers; ++layer)
    layers_->push_back(LstmLayer(config.channels, config.channels, device));
  register_module("layers", layers_);
  if (seed) initialise(*seed);
}

config::Json Lstm::hyper_parameters() const {
  return config::to_json(config_);
}

Lstm::Layers Lstm::run(const at::Tensor& ids, const at::Tensor& hidden, const at::Tensor& cell,
                       std::optional<uint64_t> dropout_seed) {
  const auto drop = [&](const at::Tensor& x, int64_t site) {
    return with_dropout(x, config_.dropout, dropout_seed, site);
  };
  at::Tensor x = drop(at::embedding(embedding_, ids), 0);  // [B, T, C]
  if (ids.size(1) == 0) return {x, hidden, cell};
  std::vector<at::Tensor> last_hidden, last_cell;
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto sequence = layer(index)->forward(x, hidden.select(1, index), cell.select(1, index));
    x = drop(sequence.outputs, index + 1);
    last_hidden.push_back(sequence.hidden);
    last_cell.push_back(sequence.cell);
  }
  return {x, at::stack(last_hidden, 1), at::stack(last_cell, 1)};
}

at::Tensor Lstm::zero_state(int64_t B) const {
  return at::zeros({B, config_.layers, config_.channels}, embedding_.options());
}

at::Tensor Lstm::hidden(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed) {
  const at::Tensor ids = placed_tokens(tokens), zeros = zero_state(ids.size(0));
  return run(ids, zeros, zeros, dropout_seed).outputs;
}

StateParts Lstm::state_parts() const {
  return {{"hidden", {config_.layers, config_.channels}},
          {"cell", {config_.layers, config_.channels}}};
}

SequenceState Lstm::empty_state() const {
  return SequenceState(TensorState());
}

SequenceOutput Lstm::read(const at::Tensor& tokens, SequenceState&& state, int64_t first_output) {
  at::NoGradGuard no_grad;
  const at::Tensor ids = placed_tokens(tokens);
  check_first_output(first_output, ids.size(1));
  const auto& before = state.as<TensorState>();
  before.check(state_parts(), ids.size(0), "Lstm");
  const bool begun = before.rows() > 0;
  const at::Tensor hidden = begun ? before.part(kHidden) : zero_state(ids.size(0));
  const at::Tensor cell = begun ? before.part(kCell) : zero_state(ids.size(0));
  const Layers after = run(ids, hidden, cell, {});
  if (ids.size(1) == 0) return {after.outputs, std::move(state)};
  return {after.outputs.slice(1, first_output),
          SequenceState(TensorState({{"hidden", after.hidden}, {"cell", after.cell}}))};
}

SequenceState Lstm::state_from(const TensorFile& file, const SequenceState&) const {
  return SequenceState(TensorState::from(file, state_parts()));
}

/// The embedding as the weights of the layers: uniform in ±1/sqrt(C).
void Lstm::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  const double bound = 1.0 / std::sqrt(config_.channels);
  Initialiser draw(seed);
  draw.uniform(embedding_, -bound, bound);
  for (int64_t index = 0; index < config_.layers; ++index) layer(index)->initialise(draw);
}

ModelKind lstm_kind() {
  return model_kind_of<Lstm>("recurrent baseline: embedding, LSTM layers, tied logits");
}

}  // namespace tessera
