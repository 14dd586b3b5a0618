#pragma once

#include <optional>
#include <utility>

#include "tessera/memory/mosaic/extractors.h"
#include "tessera/memory/stored_pairs.h"

namespace tessera {

/// What a contextual memory knows after a sequence. A value: copies are forks.
struct ContextMemoryState {
  StoredPairs pairs;
  at::Tensor leaky_key;          ///< [B, H, D]: the leaky average from which the next key goes on
  at::Tensor pending_key;        ///< [B, H, D]: waits for its value, which needs the next step
  at::Tensor pending_raw_value;  ///< [B, H, D]

  ContextMemoryState() = default;
  explicit ContextMemoryState(PairOptions options) : pairs(options) {}
  /// Sequences; 0 before the first step.
  int64_t rows() const { return leaky_key.defined() ? leaky_key.size(0) : 0; }
  /// As StoredPairs; throw UsageError before the first step, too.
  static ContextMemoryState stack(const std::vector<const ContextMemoryState*>& parts);
  ContextMemoryState select(const std::vector<int64_t>& rows) const;

  /// As StoredPairs: everything under names that start with `prefix`, and back.
  NamedTensors tensors(const std::string& prefix) const;
  static ContextMemoryState from_tensors(const TensorFile& file, const std::string& prefix,
                                         PairOptions options, int64_t heads, int64_t width);
};

/// What the last step of a sequence read: its pairs' weights, and what they hold.
struct ContextReading {
  at::Tensor weights;  ///< [B, H, T - 1]
  at::Tensor values;   ///< [B, H, T - 1, D]
};

/// A contextual memory unit (Zhang et al. 2024, section 3, eq. 7): it stores key-value pairs of the
/// sequence that it reads, and answers each key by kernel smoothing over the pairs before it.
/// The value of a pair sees one step past its key, so a pair is complete, and readable, one step
/// later. Members throw UsageError where x or a state does not fit in shape, dtype or device.
class ContextMemoryImpl : public torch::nn::Cloneable<ContextMemoryImpl> {
 public:
  /// The linear maps are drawn as torch::nn::Linear draws them. Throws as MemoryOptions::check.
  explicit ContextMemoryImpl(const MemoryOptions& options);
  void reset() final;

  /// A whole sequence at once, from empty memories: x [B, T, C] -> [B, T, C]. dropout_seed: a seed
  /// of this step and layer, none for no dropout.
  at::Tensor forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed = {});

  /// The same without dropout or gradient, going on from `state`: x [B, T, C] -> [B, T, C] and the
  /// state after it. Any split of a sequence into calls gives the same result, up to rounding. A
  /// state that was moved in is gone, also after a throw.
  std::pair<at::Tensor, ContextMemoryState> read(const at::Tensor& x, ContextMemoryState state);

  /// How forward(x) without dropout reads the pairs at its last step: x [B, T, C], T > 0.
  ContextReading last_reading(const at::Tensor& x);

  KeyExtractor key = nullptr;
  ValueExtractor value = nullptr;
  torch::nn::Linear output = nullptr;

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(std::optional<uint64_t>())})

 private:
  /// read() of one step, where a pair waits for its value and which pair is evicted does not depend
  /// on how much each was read.
  at::Tensor step(const at::Tensor& x, ContextMemoryState& state) const;

  MemoryOptions options_;
};
TORCH_MODULE(ContextMemory);

}  // namespace tessera
