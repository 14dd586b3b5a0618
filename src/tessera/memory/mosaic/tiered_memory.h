#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tessera/memory/mosaic/context_memory.h"
#include "tessera/ops/key_value_extraction.h"

namespace tessera {

/// Which pairs a tier reads at step t: those of the steps i <= t - delay, and of these the last
/// `pairs` (0: all). The pair of a step is complete one step later, so delay is at least 1.
struct TierReach {
  int64_t delay = 1;
  int64_t pairs = 0;
};

/// What a tier knows after a sequence. A value: copies are forks.
struct ContextTierState {
  ContextMemoryState memory;     ///< its pairs are those that may be read
  at::Tensor waiting_keys;       ///< [B, W, H, D]: complete pairs that may not be read yet, oldest
                                 ///< first; of each row only the last ones are pairs
  at::Tensor waiting_values;     ///< [B, W, H, D]
  std::vector<int64_t> waiting;  ///< how many, per row

  ContextTierState() = default;
  explicit ContextTierState(PairOptions options) : memory(options) {}
  /// As in ContextMemoryState.
  int64_t rows() const { return memory.rows(); }
  static ContextTierState stack(const std::vector<const ContextTierState*>& parts);
  ContextTierState select(const std::vector<int64_t>& rows) const;
  /// Whether as many pairs wait as wait in a tier of this delay.
  bool fits(int64_t delay) const;

  /// As StoredPairs::tensors and from_tensors, for a tier of this delay.
  NamedTensors tensors(const std::string& prefix) const;
  static ContextTierState from_tensors(const TensorFile& file, const std::string& prefix,
                                       PairOptions options, int64_t heads, int64_t width,
                                       int64_t delay);
};

/// How the last step of a sequence read a tier.
struct TierReading {
  int64_t first_pair = 0;  ///< the step of the first pair
  ContextReading pairs;
};

/// One tier of the contextual memory of Memory Mosaics v2 (Zhang & Bottou 2025), for H heads:
///   k_t = Norm(k̄_t),  k̄_t = g_t W_φ x_t + λ_t k̄_{t-1},  g_t = exp(W_g x_t),
///   λ_t = exp(-|W_λ x_t|),
///   v_t = exp(min(|θ|, 15)) Norm(γ ṽ_t + (1 - γ) ṽ_{t+1}),  ṽ_t = W_ψ x_t,
///   y_t = sum_i softmax_i(β(n) k_t . k_i) v_i  over the n pairs that the reach allows, 0 where
/// there is none. β(n) is ops::adaptive_bandwidth. What the heads read is not combined yet.
class ContextTierImpl : public torch::nn::Cloneable<ContextTierImpl> {
 public:
  /// Throws as MemoryOptions::check.
  explicit ContextTierImpl(const MemoryOptions& options);
  void reset() final;

  /// A whole sequence from empty memories: x [B, T, C] -> y [B, T, H, D].
  at::Tensor forward(const at::Tensor& x, TierReach reach, const ops::Dropout& dropout = {});

  /// The same without dropout or gradient, going on from `state`, which holds as many pairs as its
  /// bound allows, whatever reach.pairs says: y [B, T, H, D] and the state after it. A state that
  /// was moved in is gone, also after a throw.
  std::pair<at::Tensor, ContextTierState> read(const at::Tensor& x, ContextTierState state,
                                               int64_t delay);

  /// How forward(x) without dropout reads at its last step: x [B, T, C], T > 0.
  TierReading last_reading(const at::Tensor& x, TierReach reach);

  /// Gives the per-head scalars the paper's initial values (`mix`: 0.5, which the networks draw).
  void reset_scalars();

  torch::nn::Linear key = nullptr;    ///< W_φ [C, C]
  torch::nn::Linear gates = nullptr;  ///< W_g, and below it W_λ: [2H, C]
  torch::nn::Linear value = nullptr;  ///< W_ψ [C, C]
  at::Tensor mix;                     ///< γ [H]
  at::Tensor value_log_scale;         ///< θ [H]
  at::Tensor bandwidth_log_offset;    ///< θ_0 [H]: β_0 = exp(min(θ_0, 10))
  at::Tensor bandwidth_log_factor;    ///< θ_1 [H]: β_1 = exp(min(θ_1, 10))
  at::Tensor bandwidth_exponent;      ///< θ_α [H]: α = min(|θ_α|, 1)

 private:
  /// Keys of unit length, and the average from which the next step goes on.
  ops::Keys keys_of(const at::Tensor& x, const at::Tensor& leaky_average) const;
  ops::ValueParameters value_parameters() const;
  /// The keys as queries of memories that hold `pairs` [T] or [B, T] pairs.
  at::Tensor queries_of(const at::Tensor& keys, const at::Tensor& pairs) const;

  MemoryOptions options_;
};
TORCH_MODULE(ContextTier);

/// What a short-term and a long-term memory know after a sequence. A value: copies are forks.
struct TieredMemoryState {
  ContextTierState short_term, long_term;

  /// options: of the long-term memory.
  explicit TieredMemoryState(PairOptions options = {}) : long_term(options) {}
  /// Of the long-term memory.
  const PairOptions& options() const { return long_term.memory.pairs.options(); }
  /// As in ContextMemoryState; TieredMemory::state_from reads what tensors() gave.
  int64_t rows() const { return long_term.rows(); }
  static TieredMemoryState stack(const std::vector<const TieredMemoryState*>& parts);
  TieredMemoryState select(const std::vector<int64_t>& rows) const;
  NamedTensors tensors(const std::string& prefix) const;
};

/// The contextual memory of Memory Mosaics v2 (Zhang & Bottou 2025): two tiers with parameters of
/// their own, of which the short-term memory reads the last `short_term` pairs and the long-term
/// memory all but the last ones, those of the steps i <= t - delay; W_o combines what both read.
/// Differs from the paper's text, where the short-term memory reads a pair less: this is its figure
/// 11. Members throw UsageError where x, a state or a delay does not fit.
class TieredMemoryImpl : public torch::nn::Cloneable<TieredMemoryImpl> {
 public:
  /// short_term, delay: as above, from 1 on. Throws UsageError on other numbers, and as
  /// MemoryOptions::check.
  TieredMemoryImpl(const MemoryOptions& options, int64_t short_term, int64_t delay);
  void reset() final;

  /// A whole sequence from empty memories: x [B, T, C] -> [B, T, C]. delay: that of this sequence;
  /// the memory's unless given. dropout_seed as in ContextMemory.
  at::Tensor forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed = {},
                     std::optional<int64_t> delay = {});
  /// The same without dropout or gradient, going on from `state`. The bound of a state that has
  /// read nothing is that of the long-term memory; the short-term memory keeps no more pairs. A
  /// state that was moved in is gone, also after a throw.
  std::pair<at::Tensor, TieredMemoryState> read(const at::Tensor& x, TieredMemoryState state);
  /// Throws UsageError unless the state has read nothing or is one of this memory for `batch`
  /// sequences.
  void check_state(const TieredMemoryState& state, int64_t batch) const;
  /// As SequenceModel::state_from.
  TieredMemoryState state_from(const TensorFile& file, const std::string& prefix,
                               PairOptions options) const;
  /// How forward(x) without dropout reads at its last step: of the short-term, and of the long-term
  /// memory. x [B, T, C], T > 0.
  std::pair<TierReading, TierReading> last_readings(const at::Tensor& x);

  ContextTier short_term = nullptr;
  ContextTier long_term = nullptr;
  torch::nn::Linear output = nullptr;  ///< W_o [C, 2C]; the short-term memory's part comes first

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(std::optional<uint64_t>())},
                           {2, torch::nn::AnyValue(std::optional<int64_t>())})

 private:
  PairOptions short_term_options(PairOptions options) const;

  MemoryOptions options_;
  TierReach short_reach_, long_reach_;
};
TORCH_MODULE(TieredMemory);

}  // namespace tessera
