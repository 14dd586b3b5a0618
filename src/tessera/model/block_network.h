#pragma once

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/language_model.h"
#include "tessera/ops/layer_norm.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera {

/// Layer normalisation over channels with a gain and an optional bias (torch::nn::LayerNorm has
/// both or none), epsilon 1e-5. x [.., C] -> [.., C].
class NormImpl : public torch::nn::Cloneable<NormImpl> {
 public:
  static constexpr double kEpsilon = 1e-5;

  NormImpl(int64_t channels, bool with_bias, at::Device device)
      : channels_(channels), with_bias_(with_bias), device_(device) {
    reset();
  }
  void reset() final {
    weight = register_parameter("weight", at::ones({channels_}, device_));
    if (with_bias_) bias = register_parameter("bias", at::zeros({channels_}, device_));
  }
  void reset_parameters() {
    at::NoGradGuard no_grad;
    weight.fill_(1.0);
    if (bias.defined()) bias.zero_();
  }
  at::Tensor forward(const at::Tensor& x) { return ops::layer_norm(x, weight, bias, kEpsilon); }

  at::Tensor weight;  ///< [C]
  at::Tensor bias;    ///< [C] or undefined

 private:
  int64_t channels_;
  bool with_bias_;
  at::Device device_;
};
TORCH_MODULE(Norm);

/// What a network of blocks knows of the sequences that it reads side by side: the state of each
/// block.
template <RowsOfSequences BlockState>
struct BlockStates {
  std::vector<BlockState> blocks;

  int64_t rows() const { return blocks.front().rows(); }

  BlockStates select(const std::vector<int64_t>& rows) const {
    BlockStates result;
    for (const auto& block : blocks) result.blocks.push_back(block.select(rows));
    return result;
  }

  static BlockStates stack(const std::vector<const BlockStates*>& parts) {
    const size_t layers = parts.front()->blocks.size();
    for (const auto* part : parts)
      TESSERA_CHECK(part->blocks.size() == layers, "stack: states of ", layers, " and of ",
                    part->blocks.size(), " layers; only those of equal models can be stacked");
    BlockStates result;
    for (size_t layer = 0; layer < layers; ++layer) {
      std::vector<const BlockState*> blocks;
      for (const auto* part : parts) blocks.push_back(&part->blocks[layer]);
      result.blocks.push_back(BlockState::stack(blocks));
    }
    return result;
  }

  NamedTensors tensors(const std::string& prefix) const {
    NamedTensors result;
    for (size_t layer = 0; layer < blocks.size(); ++layer)
      for (auto& named : blocks[layer].tensors(fmt::format("{}blocks.{}.", prefix, layer)))
        result.push_back(std::move(named));
    return result;
  }
};

/// A language model of equal blocks: embedding, blocks, norm, and logits by the tied embedding.
/// A Block is a module holder made of (config, device) with a State and, for x [B, T, C] -> [B, T,
/// C], forward(x, dropout_seed) for whole sequences and read(x, state), the same without dropout or
/// gradient, going on from a state, with the next one. check_state(state, batch) throws UsageError
/// unless the state is one of this block for `batch` sequences; state_from() is as
/// SequenceModel::state_from.
template <typename Configuration, typename Block>
class BlockNetwork : public LanguageModel {
 public:
  using Config = Configuration;
  using BlockState = typename Block::ContainedType::State;
  using States = BlockStates<BlockState>;

  config::Json hyper_parameters() const override { return config::to_json(config_); }
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t window() const override { return config_.window; }
  const Config& configuration() const { return config_; }
  /// One block, whose parameters the holder shares.
  Block block(int64_t index) const {
    return Block(blocks_->template ptr<typename Block::ContainedType>(index));
  }

  at::Tensor hidden(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed = {}) override {
    at::Tensor x = embed(placed_tokens(tokens), {}, dropout_seed);  // [B, T, C]
    if (tokens.size(1) == 0) return x;
    for (int64_t layer = 0; layer < config_.layers; ++layer)
      x = block(layer)->forward(x, derived_seed(dropout_seed, layer));
    return norm_->forward(x);
  }

  SequenceOutput read(const at::Tensor& tokens, SequenceState&& state,
                      int64_t first_output = 0) override {
    at::NoGradGuard no_grad;
    const at::Tensor ids = placed_tokens(tokens);
    check_first_output(first_output, ids.size(1));
    check_state(state.as<States>().blocks, ids.size(0));
    at::Tensor x = embed(ids, state.as<States>().blocks, {});  // [B, T, C]
    SequenceState next = std::move(state);
    if (ids.size(1) == 0) return {x, std::move(next)};
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      BlockState& known = next.as<States>().blocks[layer];
      std::tie(x, known) = block(layer)->read(x, std::move(known));
    }
    return {norm_->forward(x.slice(1, first_output)), std::move(next)};
  }

  /// Every parameter but vectors.
  std::vector<std::string> weight_matrices() const override {
    std::vector<std::string> names;
    for (const auto& parameter : this->named_parameters())
      if (parameter.value().dim() > 1) names.push_back(parameter.key());
    return names;
  }

  SequenceState empty_state() const override { return bounded_state({}); }

  SequenceState bounded_state(MemoryBound bound) const override {
    const BlockState empty(PairOptions{bound, pair_type_});
    return SequenceState(States{std::vector<BlockState>(config_.layers, empty)});
  }

  void keep_pairs_in(ops::WeightType type) override { pair_type_ = type; }

  SequenceState state_from(const TensorFile& file, const SequenceState& empty) const override {
    States states;
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      const std::string prefix = fmt::format("blocks.{}.", layer);
      const PairOptions options = empty.as<States>().blocks.at(layer).options();
      states.blocks.push_back(block(layer)->state_from(file, prefix, options));
      if (states.blocks.back().rows() != states.rows())
        throw DataError(file.path, "'{}' has {} sequences, the first block {}", prefix,
                        states.blocks.back().rows(), states.rows());
    }
    return SequenceState(std::move(states));
  }

 protected:
  /// Registers the parameters; the model that derives from it draws them.
  BlockNetwork(const Config& config, at::Device device) : config_(config) {
    config.check();
    embedding_ =
        register_parameter("embedding", at::zeros({config.vocabulary, config.channels}, device));
    for (int64_t layer = 0; layer < config.layers; ++layer)
      blocks_->push_back(Block(config, device));
    register_module("blocks", blocks_);
    norm_ = register_module("norm", Norm(config.channels, config.bias, device));
  }

  /// tokens [B, T] -> [B, T, C]: the rows of the embedding, unless a model adds to them. blocks:
  /// the states of sequences that are read on; none for new ones. Throws UsageError where the
  /// network cannot read so many tokens.
  virtual at::Tensor embed(const at::Tensor& tokens, const std::vector<BlockState>& /*blocks*/,
                           std::optional<uint64_t> /*dropout_seed*/) const {
    return ops::embedding_rows(embedding_, tokens, config_.channels);
  }

  const at::Tensor& embedding() const override { return embedding_; }
  ops::Precision precision() const override { return config_.precision; }

  Config config_;
  at::Tensor embedding_;  // [V, C]
  torch::nn::ModuleList blocks_;
  Norm norm_ = nullptr;

 private:
  ops::WeightType pair_type_ = ops::WeightType::kFloat32;

  /// Throws UsageError unless the state is one of this model for `batch` sequences.
  void check_state(const std::vector<BlockState>& blocks, int64_t batch) const {
    TESSERA_CHECK(std::ssize(blocks) == config_.layers, "the state has ", blocks.size(),
                  " layers, the model ", config_.layers);
    for (int64_t layer = 0; layer < config_.layers; ++layer)
      block(layer)->check_state(blocks[layer], batch);
  }
};

/// What stands behind the heads of a block.
enum class BlockUnit { kPersistentMemory, kFeedForward };
constexpr std::array<std::string_view, 2> enum_names(BlockUnit) {
  return {"persistent_memory", "feed_forward"};
}

/// Which of a block's memories heads read: the only one there is, or a tier of several.
enum class MemoryTier { kOnly, kShortTerm, kLongTerm };
constexpr std::array<std::string_view, 3> enum_names(MemoryTier) {
  return {"only", "short_term", "long_term"};
}

/// How the heads of a memory (or of attention) read N stored values at the last position, and what
/// that added to the residual stream: output (sum_i weights_i values_i) + bias.
struct TracedReading {
  at::Tensor weights;      ///< [B, H, N]: of each value in each head's reading
  at::Tensor values;       ///< [B, H, N, D]: what is stored
  at::Tensor output;       ///< [C, H * D]
  at::Tensor output_bias;  ///< [C] or undefined
  MemoryTier tier = MemoryTier::kOnly;
  int64_t first_pair = 0;  ///< position at which the first of the values was stored
};

/// How one block came to what it added to the residual stream at the last position: its heads read
/// the pairs that are stored by then, those of each tier for themselves, and the unit behind them
/// added more.
struct BlockTrace {
  std::vector<TracedReading> pairs;
  BlockUnit unit;
  at::Tensor unit_output;              ///< [B, C]: what the unit added
  std::optional<TracedReading> slots;  ///< how the unit came to it, if it reads learned slots
};

/// The residual stream at the last position of each of B sequences, as the sum of its parts:
///   embedded + sum over the blocks of (what reading the pairs added + unit_output).
struct ResidualTrace {
  at::Tensor embedded;  ///< [B, C]
  std::vector<BlockTrace> blocks;
  at::Tensor residual;  ///< [B, C]: the sum, before the last norm
};

/// A logit as a linear function of the residual stream. The last norm divides by a deviation that
/// depends on the stream; at the stream for which this was made, logit = direction . stream +
/// offset holds exactly.
struct LogitDirection {
  at::Tensor direction;  ///< [B, C]
  at::Tensor offset;     ///< [B]
};

/// A model whose predictions can be followed back to the stored pairs behind them. No gradients.
class TracedModel {
 public:
  virtual ~TracedModel() = default;

  /// tokens [B, T] int64, T > 0. The pair of position i < T comes i-th after the first; a
  /// contextual memory has stored T - 1 of them by then, attention T. Throws UsageError as
  /// LanguageModel::hidden does.
  virtual ResidualTrace trace(const at::Tensor& tokens) = 0;
  /// For the logit of one token for each residual stream [B, C]; tokens [B] int64.
  virtual LogitDirection logit_direction(const at::Tensor& residual, const at::Tensor& tokens) = 0;
};

/// A language model of blocks that read stored pairs by weights: a Block also has trace(x), which
/// is forward(x) without dropout or gradient, and how the last position was read.
template <typename Config, typename Block>
class TracedBlockNetwork : public BlockNetwork<Config, Block>, public TracedModel {
 public:
  ResidualTrace trace(const at::Tensor& tokens) override {
    at::NoGradGuard no_grad;
    TESSERA_CHECK(tokens.dim() == 2 && tokens.size(1) > 0,
                  "trace: expected tokens [B, T] with T > 0, found ", tokens.sizes());
    at::Tensor x = this->embed(this->placed_tokens(tokens), {}, {});  // [B, T, C]
    const int64_t last = x.size(1) - 1;
    ResidualTrace trace;
    trace.embedded = x.select(1, last);
    for (int64_t layer = 0; layer < this->config_.layers; ++layer) {
      BlockTrace read;
      std::tie(x, read) = this->block(layer)->trace(x);
      trace.blocks.push_back(std::move(read));
    }
    trace.residual = x.select(1, last);
    return trace;
  }

  LogitDirection logit_direction(const at::Tensor& residual, const at::Tensor& tokens) override {
    at::NoGradGuard no_grad;
    const at::Tensor stream = residual.to(at::kDouble);
    const at::Tensor rows =  // [B, C]
        ops::embedding_rows(this->embedding_, tokens.to(residual.device()), stream.size(1))
            .to(at::kDouble) *
        this->logit_scale();
    const at::Tensor gained = rows * this->norm_->weight.to(at::kDouble);  // [B, C]
    const at::Tensor deviation =
        (stream.var(1, /*unbiased=*/false, /*keepdim=*/true) + NormImpl::kEpsilon)
            .sqrt();  // [B, 1]
    return {(gained - gained.mean(1, /*keepdim=*/true)) / deviation,
            this->norm_->bias.defined() ? rows.mv(this->norm_->bias.to(at::kDouble))
                                        : at::zeros({rows.size(0)}, rows.options())};
  }

 protected:
  using BlockNetwork<Config, Block>::BlockNetwork;
};

}  // namespace tessera
