#pragma once

#include <optional>
#include <utility>

#include "tessera/memory/mosaic/extractors.h"
#include "tessera/ops/memory_step.h"

namespace tessera {

/// What the slots of a persistent memory hold at first. kDrawn: numbers of LibTorch's default
/// generator, as its linear maps do, with standard deviation 1 / sqrt(D). kZero: zeros, for a
/// network that draws or loads its parameters: slots of a head that are equal learn alike.
enum class FirstSlots { kDrawn, kZero };

/// A persistent memory unit (Zhang et al. 2024, appendix D.1): the stored pairs are parameters. It
/// takes the place of a transformer's feed-forward layer. Members throw UsageError where x or a
/// leaky average does not fit in shape, dtype or device.
class PersistentMemoryImpl : public torch::nn::Cloneable<PersistentMemoryImpl> {
 public:
  /// slots: M per head, none or more; count: P, independent memories whose readings are averaged
  /// (the paper: 1). Throws UsageError on other numbers, and as MemoryOptions::check.
  PersistentMemoryImpl(const MemoryOptions& options, int64_t slots, int64_t count = 1,
                       FirstSlots first = FirstSlots::kDrawn);
  void reset() final;

  /// x [B, T, C] -> [B, T, C], from the start of a sequence. dropout_seed as in ContextMemory.
  at::Tensor forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed = {});

  /// The same without dropout or gradient, going on from the leaky average [B, H, D] of an earlier
  /// call (undefined: from the start); returns the one after it.
  std::pair<at::Tensor, at::Tensor> read(const at::Tensor& x, const at::Tensor& leaky_key);

  /// The weights with which forward(x) without dropout reads its slots, at each step from `first`
  /// on, 0 <= first <= T: x [B, T, C], T > 0 -> [B, T - first, H, P * M]. Slot p * M + m is the
  /// m-th of memory p.
  at::Tensor slot_weights(const at::Tensor& x, int64_t first = 0);
  /// What a slot adds to its head's reading per weight: [H, P * M, D].
  at::Tensor slot_contents() const;

  /// Gives the per-head scalars their initial values.
  void reset_scalars();
  /// Factor of the reading, [H].
  at::Tensor scale() const { return parameters_for_ops().scale.value(); }

  KeyExtractor key = nullptr;
  torch::nn::Linear output = nullptr;
  at::Tensor slot_keys;    ///< [P, H, M, D], not normalised
  at::Tensor slot_values;  ///< [P, H, M, D], not normalised
  at::Tensor log_scale;    ///< [H], stored divided by kScalarScaling

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(std::optional<uint64_t>())})

 private:
  ops::PersistentParameters parameters_for_ops() const;
  at::Tensor read_slots(const at::Tensor& keys, std::optional<uint64_t> dropout_seed);

  MemoryOptions options_;
  int64_t slots_, count_;
  FirstSlots first_;
};
TORCH_MODULE(PersistentMemory);

}  // namespace tessera
