#pragma once

#include "tessera/model/block_network.h"
#include "tessera/ops/weights.h"

namespace tessera {

/// A network of blocks whose state has a fixed size: it knows no positions, reads on without end,
/// stores no pairs, and refuses bounds of them.
template <typename Config, typename Block>
class RecurrentBlockNetwork : public BlockNetwork<Config, Block> {
 public:
  using Base = BlockNetwork<Config, Block>;

  bool reads_past_window() const override { return true; }
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
