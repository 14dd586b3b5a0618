#pragma once

#include <functional>

#include "tessera/memory/mosaic/context_memory.h"
#include "tessera/memory/mosaic/persistent_memory.h"
#include "tessera/model/block_network.h"
#include "tessera/model/model_kind.h"

namespace tessera {

struct MemoryMosaicConfig {
  int64_t vocabulary = 50304;
  int64_t window = 512;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t channels = 768;
  int64_t persistent_slots = 0;
  int64_t persistent_count = 1;
  bool bias = false;
  double dropout = 0.05;
  Parameterisation parameterisation = Parameterisation::kNano;
  ops::Precision precision = ops::Precision::kFloat32;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("vocabulary", vocabulary, "number of tokens", kSizes);
    field("window", window, "tokens of a training window", kSizes);
    field("layers", layers, "number of blocks", kCounts);
    field("heads", heads, "memories per unit; divides channels", kCounts);
    field("channels", channels, "width of the network", kSizes);
    field("persistent_slots", persistent_slots, "slots per head; 0 takes 3.5 * channels");
    field("persistent_count", persistent_count, "persistent memories averaged per unit", kCounts);
    field("bias", bias, "biases in linear maps and norms");
    field("dropout", dropout, "probability, on memory weights and unit outputs", config::below(1));
    field("parameterisation", parameterisation,
          "which published form: nano learns sooner, paper is that of the paper's experiments");
    field("precision", precision, "number format of matrix products");
  }

  /// M: the slots per head.
  int64_t slots() const { return persistent_slots != 0 ? persistent_slots : 7 * channels / 2; }
  /// Throws UsageError that names the field and what it may be.
  void check() const;
};

/// What a block knows of the sequences that it reads.
struct MosaicBlockState {
  ContextMemoryState context;
  at::Tensor persistent_leaky_key;  ///< [B, H, D]

  explicit MosaicBlockState(PairOptions options = {}) : context(options) {}
  int64_t rows() const { return context.rows(); }
  const PairOptions& options() const { return context.pairs.options(); }
  MosaicBlockState select(const std::vector<int64_t>& rows) const;
  static MosaicBlockState stack(const std::vector<const MosaicBlockState*>& parts);
  NamedTensors tensors(const std::string& prefix) const;
};

/// One block: x += context(norm(x)); x += persistent(norm(x)).
class MosaicBlockImpl : public NotCloneable {
 public:
  using State = MosaicBlockState;

  MosaicBlockImpl(const MemoryMosaicConfig& config, at::Device device);

  // As BlockNetwork and TracedBlockNetwork ask of a block.
  at::Tensor forward(at::Tensor x, std::optional<uint64_t> dropout_seed);
  std::pair<at::Tensor, BlockTrace> trace(at::Tensor x);
  std::pair<at::Tensor, State> read(at::Tensor x, State state);
  void check_state(const State& state, int64_t batch) const;
  State state_from(const TensorFile& file, const std::string& prefix, PairOptions options) const;

  Norm context_norm = nullptr;
  ContextMemory context = nullptr;
  Norm persistent_norm = nullptr;
  PersistentMemory persistent = nullptr;

 private:
  int64_t heads_;
  int64_t head_width_;
};
TORCH_MODULE(MosaicBlock);

/// A Memory Mosaic language model (Zhang et al. 2024, figure 6; blocks in pre-norm form as in the
/// authors' training script): embedding, blocks, norm, logits by the tied embedding. No positions.
class MemoryMosaic : public TracedBlockNetwork<MemoryMosaicConfig, MosaicBlock> {
 public:
  static constexpr std::string_view kKind = "memory_mosaic";

  /// As ModelKind::make.
  explicit MemoryMosaic(const MemoryMosaicConfig& config, std::optional<uint64_t> seed = 0,
                        at::Device device = at::kCPU);

  std::string_view kind() const override { return kKind; }
  void initialise(uint64_t seed) override;

  using OnWeights = std::function<void(int64_t layer, const at::Tensor& weights)>;
  /// Reads sequences, tokens [B, T], T > 0, from their beginning, and calls visit(layer, weights)
  /// for each block in turn with the weights [B, T, H, P * M] with which each step read each slot.
  /// No gradients. Throws UsageError as hidden() does.
  void visit_slot_weights(const at::Tensor& tokens, const OnWeights& visit);

 protected:
  at::Tensor embed(const at::Tensor& tokens, const std::vector<MosaicBlockState>& blocks,
                   std::optional<uint64_t> dropout_seed) const override;
  double logit_scale() const override;
};

/// Its entry in model_kinds(). Formats: nanoMosaics, and the library behind the paper in its two
/// variants.
ModelKind memory_mosaic_kind();

}  // namespace tessera
