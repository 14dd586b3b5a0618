#pragma once

#include <torch/nn/module.h>

#include <optional>
#include <string>
#include <utility>

#include "lab/baseline/tensor_state.h"
#include "tessera/model/block_network.h"
#include "tessera/ops/weights.h"

namespace tessera {

/// A block whose state has a fixed size: x += remember(x); x += feed_forward(x), each of which
/// begins with a norm.
class RecurrentBlock : public torch::nn::Module {
 public:
  using State = TensorState;

  /// x [B, T, C] -> [B, T, C].
  at::Tensor forward(at::Tensor x, std::optional<uint64_t> dropout_seed) {
    x = x + with_dropout(remember(x, State{}).first, dropout_, dropout_seed, 0);
    return x + with_dropout(feed_forward(x), dropout_, dropout_seed, 1);
  }
  /// The same, going on from what was retained so far, and what is retained afterwards.
  std::pair<at::Tensor, State> read(at::Tensor x, const State& state) {
    auto [branch, next] = remember(x, state);
    x = x + branch;
    return {x + feed_forward(x), std::move(next)};
  }
  /// Throws UsageError unless the state is one of this block for `batch` sequences.
  void check_state(const State& state, int64_t batch) const { state.check(state_, batch, kind_); }
  /// As SequenceModel::state_from.
  State state_from(const TensorFile& file, const std::string& prefix, PairOptions) const {
    return State::from(file, state_, prefix);
  }

 protected:
  /// kind: of the model, for messages.
  RecurrentBlock(std::string kind, double dropout, StateParts state)
      : kind_(std::move(kind)), dropout_(dropout), state_(std::move(state)) {}

  /// What the memories add to x [B, T, C], and what they then retain.
  virtual std::pair<at::Tensor, State> remember(const at::Tensor& x, const State& state) = 0;
  virtual at::Tensor feed_forward(const at::Tensor& x) = 0;

 private:
  std::string kind_;
  double dropout_;
  StateParts state_;
};

/// A network of blocks whose state has a fixed size: it knows no positions, reads on without end,
/// stores no pairs, and refuses bounds of them.
template <typename Config, typename Block>
class RecurrentBlockNetwork : public BlockNetwork<Config, Block> {
 public:
  using Base = BlockNetwork<Config, Block>;

  SequenceState bounded_state(MemoryBound bound) const override {
    return bound.pairs != 0 ? LanguageModel::bounded_state(bound) : Base::bounded_state({});
  }
  void keep_pairs_in(ops::WeightType type) override { LanguageModel::keep_pairs_in(type); }

 protected:
  using Base::Base;

  at::Tensor embed(const at::Tensor& tokens, const std::vector<typename Base::BlockState>&,
                   std::optional<uint64_t> dropout_seed) const override {
    const auto& config = this->config_;
    const at::Tensor x =
        ops::embedding_rows(this->embedding_, tokens, config.channels);  // [B, T, C]
    return with_dropout(x, config.dropout, dropout_seed, config.layers);
  }
};

}  // namespace tessera
