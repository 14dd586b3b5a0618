#include "tessera/model/memory_mosaic.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "tessera/memory/rows_of_states.h"
#include "tessera/model/initialisation.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera {

void MemoryMosaicConfig::check() const {
  config::check_demands(*this, "model");
  check_sizes({{"persistent_slots", slots()}});  // 3.5 * channels, which are known to be few by now
  check_sizes({{"persistent_slots * model.persistent_count", slots() * persistent_count}});
  check_heads(heads, channels);
}

MosaicBlockState MosaicBlockState::select(const std::vector<int64_t>& rows) const {
  MosaicBlockState result;
  result.context = context.select(rows);
  result.persistent_leaky_key = chosen_rows(persistent_leaky_key, rows);
  return result;
}

MosaicBlockState MosaicBlockState::stack(const std::vector<const MosaicBlockState*>& parts) {
  MosaicBlockState result;
  result.context = stacked(parts, &MosaicBlockState::context);
  result.persistent_leaky_key = stacked(parts, &MosaicBlockState::persistent_leaky_key);
  return result;
}

NamedTensors MosaicBlockState::tensors(const std::string& prefix) const {
  NamedTensors result = context.tensors(prefix + "context.");
  result.emplace_back(prefix + "persistent.leaky_key", persistent_leaky_key);
  return result;
}

MosaicBlockImpl::MosaicBlockImpl(const MemoryMosaicConfig& config, at::Device device)
    : heads_(config.heads), head_width_(config.channels / config.heads) {
  const MemoryOptions options = {.channels = config.channels,
                                 .heads = config.heads,
                                 .bias = config.bias,
                                 .dropout = config.dropout,
                                 .parameterisation = config.parameterisation,
                                 .precision = config.precision,
                                 .device = device};
  context_norm = register_module("context_norm", Norm(config.channels, config.bias, device));
  context = register_module("context", ContextMemory(options));
  persistent_norm = register_module("persistent_norm", Norm(config.channels, config.bias, device));
  persistent = register_module(
      "persistent",
      PersistentMemory(options, config.slots(), config.persistent_count, FirstSlots::kZero));
}

at::Tensor MosaicBlockImpl::forward(at::Tensor x, std::optional<uint64_t> dropout_seed) {
  x = x + context->forward(context_norm->forward(x), derived_seed(dropout_seed, 0));
  return x + persistent->forward(persistent_norm->forward(x), derived_seed(dropout_seed, 1));
}

std::pair<at::Tensor, BlockTrace> MosaicBlockImpl::trace(at::Tensor x) {
  const at::Tensor normed = context_norm->forward(x);
  const ContextReading reading = context->last_reading(normed);
  x = x + context->forward(normed);
  const int64_t last = x.size(1) - 1;
  const at::Tensor asked = persistent_norm->forward(x);
  const at::Tensor from_persistent = persistent->forward(asked);  // [B, T, C]
  return {x + from_persistent,
          {{{reading.weights, reading.values, context->output->weight, context->output->bias}},
           BlockUnit::kPersistentMemory,
           from_persistent.select(1, last),
           TracedReading{persistent->slot_weights(asked, last).squeeze(1),
                         persistent->slot_contents().expand({x.size(0), -1, -1, -1}),
                         persistent->output->weight, persistent->output->bias}}};
}

std::pair<at::Tensor, MosaicBlockState> MosaicBlockImpl::read(at::Tensor x,
                                                              MosaicBlockState state) {
  at::Tensor from_context, from_persistent;
  std::tie(from_context, state.context) =
      context->read(context_norm->forward(x), std::move(state.context));
  x = x + from_context;
  std::tie(from_persistent, state.persistent_leaky_key) =
      persistent->read(persistent_norm->forward(x), state.persistent_leaky_key);
  return {x + from_persistent, std::move(state)};
}

void MosaicBlockImpl::check_state(const MosaicBlockState& state, int64_t batch) const {
  if (state.persistent_leaky_key.defined())
    check_shape(state.persistent_leaky_key, {batch, heads_, head_width_},
                "MemoryMosaic::read: the state's leaky average");
}

MosaicBlockState MosaicBlockImpl::state_from(const TensorFile& file, const std::string& prefix,
                                             PairOptions options) const {
  MosaicBlockState state(options);
  state.context =
      ContextMemoryState::from_tensors(file, prefix + "context.", options, heads_, head_width_);
  state.persistent_leaky_key =
      file.at(prefix + "persistent.leaky_key", {state.rows(), heads_, head_width_}, at::kFloat);
  return state;
}

MemoryMosaic::MemoryMosaic(const MemoryMosaicConfig& config, std::optional<uint64_t> seed,
                           at::Device device)
    : TracedBlockNetwork(config, device) {
  if (seed) initialise(*seed);
}

double MemoryMosaic::logit_scale() const {
  return config_.parameterisation == Parameterisation::kPaper ? 1.0 / std::sqrt(config_.channels)
                                                              : 1.0;
}

at::Tensor MemoryMosaic::embed(const at::Tensor& tokens, const std::vector<MosaicBlockState>&,
                               std::optional<uint64_t> dropout_seed) const {
  const at::Tensor x = ops::embedding_rows(embedding_, tokens, config_.channels);  // [B, T, C]
  if (config_.parameterisation == Parameterisation::kPaper) return x;
  return with_dropout(x, config_.dropout, dropout_seed, config_.layers);
}

void MemoryMosaic::visit_slot_weights(const at::Tensor& tokens, const OnWeights& visit) {
  at::NoGradGuard no_grad;
  at::Tensor x = embed(placed_tokens(tokens), {}, {});
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    MosaicBlock one = block(layer);
    x = x + one->context->forward(one->context_norm->forward(x));
    const at::Tensor asked = one->persistent_norm->forward(x);
    visit(layer, one->persistent->slot_weights(asked));
    x = x + one->persistent->forward(asked);
  }
}

void MemoryMosaic::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  const bool paper = config_.parameterisation == Parameterisation::kPaper;
  const double deviation = paper ? 1.0 / std::sqrt(config_.channels) : 0.02;
  const double output_deviation = paper ? 1.0 / std::sqrt(config_.channels * config_.layers)
                                        : 0.02 / std::sqrt(2.0 * config_.layers);
  const double slot_deviation = 1.0 / std::sqrt(config_.channels / config_.heads);
  Initialiser draw(seed);
  draw.normal(embedding_, deviation);
  norm_->reset_parameters();
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    MosaicBlock one = block(layer);
    one->context_norm->reset_parameters();
    one->persistent_norm->reset_parameters();
    one->context->key->reset_scalars();
    one->context->value->reset_scalars();
    one->persistent->reset_scalars();
    for (auto& projection : {one->context->key->projection, one->context->value->projection,
                             one->persistent->key->projection})
      draw.normal(projection, deviation);
    draw.normal(one->context->output, output_deviation);
    draw.normal(one->persistent->output, output_deviation);
    draw.normal(one->persistent->slot_keys, slot_deviation);
    draw.normal(one->persistent->slot_values, slot_deviation);
    draw.uniform(one->context->value->mix);
  }
}

}  // namespace tessera
