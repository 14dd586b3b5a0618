#pragma once

#include <ATen/ATen.h>
#include <torch/nn/modules/container/modulelist.h>

#include "tessera/base/error.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/language_model.h"
#include "tessera/model/norm.h"

namespace tessera {

/// What a network of blocks knows of the sequences that it reads side by side: for each block what
/// that knows of them. A BlockState is a value with rows(), select(), stack(), tensors().
template <typename BlockState>
struct BlockStates : LanguageModelState {
  std::vector<BlockState> blocks;

  /// Sequences; 0 before the first token.
  int64_t rows() const { return blocks.front().rows(); }

  std::unique_ptr<LanguageModelState> clone() const override {
    return std::make_unique<BlockStates>(*this);
  }

  std::unique_ptr<LanguageModelState> select(const std::vector<int64_t>& rows) const override {
    TORCH_CHECK_VALUE(this->rows() > 0, "LanguageModelState::select: nothing was read");
    auto result = std::make_unique<BlockStates>();
    for (const auto& block : blocks) result->blocks.push_back(block.select(rows));
    return result;
  }

  std::unique_ptr<LanguageModelState> stack(
      const std::vector<const LanguageModelState*>& others) const override {
    auto result = std::make_unique<BlockStates>();
    for (size_t layer = 0; layer < blocks.size(); ++layer) {
      std::vector<const BlockState*> parts = {&blocks[layer]};
      for (const auto* other : others)
        parts.push_back(&dynamic_cast<const BlockStates&>(*other).blocks.at(layer));
      result->blocks.push_back(BlockState::stack(parts));
    }
    return result;
  }

  NamedTensors tensors() const override {
    NamedTensors result;
    for (size_t layer = 0; layer < blocks.size(); ++layer)
      for (auto& named : blocks[layer].tensors(fmt::format("blocks.{}.", layer)))
        result.push_back(std::move(named));
    return result;
  }
};

/// A language model of equal blocks: embedding, blocks, norm, and logits by the tied embedding.
/// A Block is a module holder with forward(x, dropout_seed) for whole sequences, read(x, state)
/// that goes on from a state, and check_state() and state_from() for its State.
template <typename Config, typename Block>
class BlockNetwork : public LanguageModel {
 public:
  using BlockState = typename Block::ContainedType::State;

  config::Json hyper_parameters() const override { return config::to_json(config_); }
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t window() const override { return config_.window; }
  const Config& configuration() const { return config_; }
  Block block(int64_t index) const {
    return Block(blocks_->template ptr<typename Block::ContainedType>(index));
  }

  at::Tensor hidden(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed = {}) override {
    check_tokens(tokens);
    at::Tensor x = embed(tokens, {}, dropout_seed);  // [B, T, C]
    if (tokens.size(1) == 0) return x;
    for (int64_t layer = 0; layer < config_.layers; ++layer)
      x = block(layer)->forward(x, derived_seed(dropout_seed, layer));
    return norm_->forward(x);
  }

  at::Tensor read(const at::Tensor& tokens, LanguageModelState& state) override {
    at::NoGradGuard no_grad;
    check_tokens(tokens);
    auto& blocks = dynamic_cast<BlockStates<BlockState>&>(state).blocks;
    check_state(blocks, tokens.size(0));
    at::Tensor x = embed(tokens, blocks, {});  // [B, T, C]
    if (tokens.size(1) == 0) return x;
    for (int64_t layer = 0; layer < config_.layers; ++layer)
      x = block(layer)->read(x, blocks[layer]);
    return norm_->forward(x);
  }

  std::unique_ptr<LanguageModelState> empty_state(MemoryBound bound = {}) const override {
    auto state = std::make_unique<BlockStates<BlockState>>();
    state->blocks.assign(config_.layers, BlockState(bound));
    return state;
  }

  std::unique_ptr<LanguageModelState> state_from(const TensorFile& file,
                                                 MemoryBound bound) const override {
    auto state = std::make_unique<BlockStates<BlockState>>();
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      const std::string prefix = fmt::format("blocks.{}.", layer);
      state->blocks.push_back(block(layer)->state_from(file, prefix, bound));
      if (state->blocks.back().rows() != state->rows())
        throw DataError(file.path, "'{}' has {} sequences, the first block {}", prefix,
                        state->blocks.back().rows(), state->rows());
    }
    return state;
  }

 protected:
  /// Registers the parameters; the model that derives from it draws them.
  explicit BlockNetwork(const Config& config) : config_(config) {
    config.check();
    embedding_ = register_parameter("embedding", at::zeros({config.vocabulary, config.channels}));
    for (int64_t layer = 0; layer < config.layers; ++layer) blocks_->push_back(Block(config));
    register_module("blocks", blocks_);
    norm_ = register_module("norm", Norm(config.channels, config.bias));
  }

  /// tokens [B, T] -> [B, T, C]. blocks: the states of sequences that are read on; none for new
  /// ones. Throws c10::ValueError where the network cannot read so many tokens.
  virtual at::Tensor embed(const at::Tensor& tokens, const std::vector<BlockState>& blocks,
                           std::optional<uint64_t> dropout_seed) const = 0;

  const at::Tensor& embedding() const override { return embedding_; }
  ops::Precision precision() const override { return config_.precision; }

  Config config_;
  at::Tensor embedding_;  // [V, C]
  torch::nn::ModuleList blocks_;
  Norm norm_ = nullptr;

 private:
  /// Throws c10::ValueError unless the state is one of this model for `batch` sequences.
  void check_state(const std::vector<BlockState>& blocks, int64_t batch) const {
    TORCH_CHECK_VALUE(static_cast<int64_t>(blocks.size()) == config_.layers, "a state of ",
                      blocks.size(), " layers meets a model of ", config_.layers);
    for (int64_t layer = 0; layer < config_.layers; ++layer)
      block(layer)->check_state(blocks[layer], batch);
  }
};

}  // namespace tessera
