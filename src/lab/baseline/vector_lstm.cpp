#include "lab/baseline/vector_lstm.h"

#include <ATen/ATen.h>

namespace tessera {

RecurrentNetwork::Layout VectorLstm::layout_of(const VectorLstmConfig& config) {
  const std::vector<int64_t> sizes = {config.layers, config.hidden};
  return {config.inputs, config.hidden, config.outputs, {{"hidden", sizes}, {"cell", sizes}}};
}

VectorLstm::VectorLstm(const VectorLstmConfig& config, std::optional<uint64_t> seed,
                       at::Device device)
    : ConfiguredNetwork(config, device) {
  for (int64_t layer = 0; layer < config.layers; ++layer)
    layers_->push_back(
        LstmLayer(layer == 0 ? config.inputs : config.hidden, config.hidden, device));
  register_module("layers", layers_);
  if (seed) initialise(*seed);
}

at::Tensor VectorLstm::run(const at::Tensor& x, Parts& state, int64_t first_output) {
  at::Tensor outputs = x;  // [B, T, H] of each layer
  Parts hidden, cell;
  for (int64_t index = 0; index < config_.layers; ++index) {
    const auto sequence = layers_->at<LstmLayerImpl>(index).forward(
        outputs, state[kHidden].select(1, index), state[kCell].select(1, index));
    outputs = sequence.outputs;
    hidden.push_back(sequence.hidden);
    cell.push_back(sequence.cell);
  }
  state = {at::stack(hidden, 1), at::stack(cell, 1)};
  return outputs.slice(1, first_output);
}

}  // namespace tessera
