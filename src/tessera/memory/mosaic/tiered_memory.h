#pragma once

#include <optional>
#include <utility>

#include "tessera/memory/mosaic/context_tier.h"

namespace tessera {

/// What a short-term and a long-term memory know after a sequence. A value: copies are forks.
struct TieredMemoryState {
  ContextTierState short_term, long_term;

  /// options: of the long-term memory.
  explicit TieredMemoryState(PairOptions options = {}) : long_term(options) {}
  int64_t rows() const { return long_term.rows(); }
  const PairOptions& options() const { return long_term.memory.pairs.options(); }
  static TieredMemoryState stack(const std::vector<const TieredMemoryState*>& parts);
  TieredMemoryState select(const std::vector<int64_t>& rows) const;
  NamedTensors tensors(const std::string& prefix) const;
};

/// The contextual memory of Memory Mosaics v2 (Zhang & Bottou 2025): two tiers with parameters of
/// their own, of which the short-term memory reads the last `short_term` pairs and the long-term
/// memory all but the last ones, those of the steps i <= t - delay; W_o combines what both read.
/// Differs from the paper's text, where the short-term memory reads a pair less: this is its figure
/// 11.
class TieredMemoryImpl : public torch::nn::Module {
 public:
  /// short_term, delay: as above, from 1 on.
  TieredMemoryImpl(const MemoryOptions& options, int64_t short_term, int64_t delay);

  /// A whole sequence from empty memories: x [B, T, C] -> [B, T, C]. delay: that of this sequence;
  /// the memory's unless given. dropout_seed as in ContextMemory.
  at::Tensor forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed = {},
                     std::optional<int64_t> delay = {});
  /// The same without dropout or gradient, going on from `state`. The bound of a state that has
  /// read nothing is that of the long-term memory; the short-term memory keeps no more pairs.
  std::pair<at::Tensor, TieredMemoryState> read(const at::Tensor& x, TieredMemoryState state);
  /// As SequenceModel::state_from.
  TieredMemoryState state_from(const TensorFile& file, const std::string& prefix,
                               PairOptions options) const;
  /// How forward(x) without dropout reads at its last step: of the short-term, and of the long-term
  /// memory. x [B, T, C], T > 0.
  std::pair<TierReading, TierReading> last_readings(const at::Tensor& x);

  ContextTier short_term = nullptr;
  ContextTier long_term = nullptr;
  torch::nn::Linear output = nullptr;  ///< W_o [C, 2C]; the short-term memory's part comes first

 private:
  PairOptions short_term_options(PairOptions options) const;

  MemoryOptions options_;
  TierReach short_reach_, long_reach_;
};
TORCH_MODULE(TieredMemory);

}  // namespace tessera
