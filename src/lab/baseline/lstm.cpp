#include "lab/baseline/lstm.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "tessera/model/initialisation.h"

namespace tessera {

void LstmConfig::check() const {
  config::check_demands(*this, "model");
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

at::Tensor Lstm::run(const at::Tensor& ids, Parts& state, std::optional<uint64_t> dropout_seed) {
  const auto drop = [&](const at::Tensor& x, int64_t site) {
    return with_dropout(x, config_.dropout, dropout_seed, site);
  };
  at::Tensor x = drop(at::embedding(embedding_, ids), 0);  // [B, T, C]
  if (ids.size(1) == 0) return x;
  Parts hidden, cell;
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto sequence =
        layer(index)->forward(x, state[kHidden].select(1, index), state[kCell].select(1, index));
    x = drop(sequence.outputs, index + 1);
    hidden.push_back(sequence.hidden);
    cell.push_back(sequence.cell);
  }
  state = {at::stack(hidden, 1), at::stack(cell, 1)};
  return x;
}

StateParts Lstm::state_parts() const {
  return {{"hidden", {config_.layers, config_.channels}},
          {"cell", {config_.layers, config_.channels}}};
}

Lstm::Parts Lstm::first_state(int64_t B) const {
  const at::Tensor zeros = at::zeros({B, config_.layers, config_.channels}, embedding_.options());
  return {zeros, zeros};
}

at::Tensor Lstm::hidden(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed) {
  const at::Tensor ids = placed_tokens(tokens);
  Parts state = first_state(ids.size(0));
  return run(ids, state, dropout_seed);
}

/// The embedding as the weights of the layers: uniform in ±1/sqrt(C).
void Lstm::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  const double bound = 1.0 / std::sqrt(config_.channels);
  Initialiser draw(seed);
  draw.uniform(embedding_, -bound, bound);
  for (int64_t index = 0; index < config_.layers; ++index) layer(index)->initialise(draw);
}

}  // namespace tessera
