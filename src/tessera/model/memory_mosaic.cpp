#include "tessera/model/memory_mosaic.h"

#include <ATen/ATen.h>

#include "tessera/base/check_shape.h"
#include "tessera/model/initialisation.h"
#include "tessera/ops/activation_dropout.h"

namespace tessera {
namespace {

MemoryOptions memory_options(const MemoryMosaicConfig& config) {
  return {config.channels,         config.heads,    config.bias, config.dropout,
          config.parameterisation, config.precision};
}

}  // namespace

void MemoryMosaicConfig::check() const {
  check_sizes(
      {{"vocabulary", vocabulary}, {"window", window}, {"heads", heads}, {"channels", channels}});
  check_sizes({{"persistent_slots", slots()}});  // 3.5 * channels, which are known to be few by now
  check_count("layers", layers);
  check_count("persistent_count", persistent_count);
  check_heads(heads, channels);
  check_dropout_probability(dropout);
}

MosaicBlockImpl::MosaicBlockImpl(const MemoryMosaicConfig& config) {
  const MemoryOptions options = memory_options(config);
  context_norm = register_module("context_norm", Norm(config.channels, config.bias));
  context = register_module("context", ContextMemory(options));
  persistent_norm = register_module("persistent_norm", Norm(config.channels, config.bias));
  persistent = register_module("persistent",
                               PersistentMemory(options, config.slots(), config.persistent_count));
}

at::Tensor MosaicBlockImpl::forward(at::Tensor x, std::optional<uint64_t> dropout_seed) {
  x = x + context->forward(context_norm->forward(x), derived_seed(dropout_seed, 0));
  return x + persistent->forward(persistent_norm->forward(x), derived_seed(dropout_seed, 1));
}

at::Tensor MosaicBlockImpl::read(at::Tensor x, MosaicBlockState& state) {
  auto [from_context, context_state] =
      context->read(context_norm->forward(x), std::move(state.context));
  state.context = std::move(context_state);
  x = x + from_context;
  auto [from_persistent, leaky_key] =
      persistent->read(persistent_norm->forward(x), state.persistent_leaky_key);
  state.persistent_leaky_key = leaky_key;
  return x + from_persistent;
}

std::unique_ptr<LanguageModelState> MemoryMosaicState::clone() const {
  return std::make_unique<MemoryMosaicState>(*this);
}

std::unique_ptr<LanguageModelState> MemoryMosaicState::select(
    const std::vector<int64_t>& rows) const {
  auto result = std::make_unique<MemoryMosaicState>();
  for (const auto& block : blocks) {
    ContextMemoryState context = block.context.select(rows);
    const at::Tensor index = at::tensor(rows, at::kLong).to(context.leaky_key.device());
    result->blocks.push_back(
        {std::move(context), block.persistent_leaky_key.index_select(0, index)});
  }
  return result;
}

std::unique_ptr<LanguageModelState> MemoryMosaicState::stack(
    const std::vector<const LanguageModelState*>& others) const {
  auto result = std::make_unique<MemoryMosaicState>();
  for (size_t layer = 0; layer < blocks.size(); ++layer) {
    std::vector<const ContextMemoryState*> contexts = {&blocks[layer].context};
    std::vector<at::Tensor> leaky_keys = {blocks[layer].persistent_leaky_key};
    for (const auto* other : others) {
      const auto& block = dynamic_cast<const MemoryMosaicState&>(*other).blocks.at(layer);
      contexts.push_back(&block.context);
      leaky_keys.push_back(block.persistent_leaky_key);
    }
    result->blocks.push_back({ContextMemoryState::stack(contexts), at::cat(leaky_keys)});
  }
  return result;
}

NamedTensors MemoryMosaicState::tensors() const {
  NamedTensors result;
  for (size_t layer = 0; layer < blocks.size(); ++layer) {
    const std::string prefix = fmt::format("blocks.{}.", layer);
    for (auto& named : blocks[layer].context.tensors(prefix + "context."))
      result.push_back(std::move(named));
    result.emplace_back(prefix + "persistent.leaky_key", blocks[layer].persistent_leaky_key);
  }
  return result;
}

MemoryMosaic::MemoryMosaic(const MemoryMosaicConfig& config, std::optional<uint64_t> seed)
    : config_(config) {
  config.check();
  embedding_ = register_parameter("embedding", at::zeros({config.vocabulary, config.channels}));
  for (int64_t layer = 0; layer < config.layers; ++layer) blocks_->push_back(MosaicBlock(config));
  register_module("blocks", blocks_);
  norm_ = register_module("norm", Norm(config.channels, config.bias));
  if (seed) initialise(*seed);
}

MosaicBlock MemoryMosaic::block(int64_t index) const {
  return MosaicBlock(blocks_->ptr<MosaicBlockImpl>(index));
}

double MemoryMosaic::logit_scale() const {
  return config_.parameterisation == Parameterisation::kPaper ? 1.0 / std::sqrt(config_.channels)
                                                              : 1.0;
}

at::Tensor MemoryMosaic::hidden(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed) {
  check_tokens(tokens);
  at::Tensor x = at::embedding(embedding_, tokens);  // [B, T, C]
  if (dropout_seed && config_.parameterisation == Parameterisation::kNano)
    x = ops::activation_dropout(x, {config_.dropout, *derived_seed(dropout_seed, config_.layers)});
  for (int64_t layer = 0; layer < config_.layers; ++layer)
    x = block(layer)->forward(x, derived_seed(dropout_seed, layer));
  return norm_->forward(x);
}

std::unique_ptr<LanguageModelState> MemoryMosaic::empty_state(MemoryBound bound) const {
  auto state = std::make_unique<MemoryMosaicState>();
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    MosaicBlockState block;
    block.context.pairs = StoredPairs(bound);
    state->blocks.push_back(std::move(block));
  }
  return state;
}

void MemoryMosaic::check_state(const std::vector<MosaicBlockState>& blocks, int64_t batch) const {
  TORCH_CHECK_VALUE(static_cast<int64_t>(blocks.size()) == config_.layers, "a state of ",
                    blocks.size(), " layers meets a model of ", config_.layers);
  for (const auto& block : blocks)
    if (block.persistent_leaky_key.defined())
      check_shape(block.persistent_leaky_key,
                  {batch, config_.heads, config_.channels / config_.heads},
                  "MemoryMosaic::read: the state's leaky average");
}

std::unique_ptr<LanguageModelState> MemoryMosaic::state_from(const TensorFile& file,
                                                             MemoryBound bound) const {
  const int64_t H = config_.heads, D = config_.channels / config_.heads;
  auto state = std::make_unique<MemoryMosaicState>();
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    const std::string prefix = fmt::format("blocks.{}.", layer);
    auto context = ContextMemoryState::from_tensors(file, prefix + "context.", bound, H, D);
    const int64_t rows = context.leaky_key.size(0);
    if (layer > 0 && rows != state->blocks.front().persistent_leaky_key.size(0))
      throw DataError(file.path, "'{}' has {} sequences, the first block another number", prefix,
                      rows);
    state->blocks.push_back(
        {std::move(context), file.at(prefix + "persistent.leaky_key", {rows, H, D}, at::kFloat)});
  }
  return state;
}

at::Tensor MemoryMosaic::read(const at::Tensor& tokens, LanguageModelState& state) {
  at::NoGradGuard no_grad;
  check_tokens(tokens);
  auto& blocks = dynamic_cast<MemoryMosaicState&>(state).blocks;
  check_state(blocks, tokens.size(0));
  at::Tensor x = at::embedding(embedding_, tokens);  // [B, T, C]
  for (int64_t layer = 0; layer < config_.layers; ++layer)
    x = block(layer)->read(x, blocks.at(layer));
  return norm_->forward(x);
}

void MemoryMosaic::initialise(uint64_t seed) {
  at::NoGradGuard no_grad;
  const bool paper = config_.parameterisation == Parameterisation::kPaper;
  const double deviation = memory_options(config_).weight_deviation();
  const double output_deviation = paper ? 1.0 / std::sqrt(config_.channels * config_.layers)
                                        : 0.02 / std::sqrt(2.0 * config_.layers);
  const double slot_deviation = 1.0 / std::sqrt(config_.channels / config_.heads);
  Initialiser draw(seed);
  draw.normal(embedding_, deviation);
  norm_->reset();
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    MosaicBlock one = block(layer);
    one->context_norm->reset();
    one->persistent_norm->reset();
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
