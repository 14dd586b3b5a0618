#pragma once

#include <torch/nn/modules/container/modulelist.h>

#include "tessera/memory/context_memory.h"
#include "tessera/memory/persistent_memory.h"
#include "tessera/model/language_model.h"
#include "tessera/model/norm.h"

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
  Parameterisation parameterisation = Parameterisation::kPaper;
  ops::Precision precision = ops::Precision::kFloat32;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("vocabulary", vocabulary, "number of tokens");
    field("window", window, "tokens of a training window");
    field("layers", layers, "number of blocks");
    field("heads", heads, "memories per unit; divides channels");
    field("channels", channels, "width of the network");
    field("persistent_slots", persistent_slots, "slots per head; 0 takes 3.5 * channels");
    field("persistent_count", persistent_count, "persistent memories averaged per unit");
    field("bias", bias, "biases in linear maps and norms");
    field("dropout", dropout, "probability, on memory weights and unit outputs");
    field("parameterisation", parameterisation, "which published form");
    field("precision", precision, "number format of matrix products");
  }

  /// M: the slots per head.
  int64_t slots() const { return persistent_slots != 0 ? persistent_slots : 7 * channels / 2; }
  /// Throws UsageError that names the field and what it may be.
  void check() const;
};

/// One block: x += context(norm(x)); x += persistent(norm(x)). What it knows of a sequence:
struct MosaicBlockState {
  ContextMemoryState context;
  at::Tensor persistent_leaky_key;  ///< [B, H, D]
};

class MosaicBlockImpl : public torch::nn::Module {
 public:
  explicit MosaicBlockImpl(const MemoryMosaicConfig& config);
  /// x [B, T, C] -> [B, T, C].
  at::Tensor forward(at::Tensor x, std::optional<uint64_t> dropout_seed);
  at::Tensor read(at::Tensor x, MosaicBlockState& state);

  Norm context_norm = nullptr;
  ContextMemory context = nullptr;
  Norm persistent_norm = nullptr;
  PersistentMemory persistent = nullptr;
};
TORCH_MODULE(MosaicBlock);

struct MemoryMosaicState : LanguageModelState {
  std::vector<MosaicBlockState> blocks;

  std::unique_ptr<LanguageModelState> clone() const override;
  std::unique_ptr<LanguageModelState> select(const std::vector<int64_t>& rows) const override;
  std::unique_ptr<LanguageModelState> stack(
      const std::vector<const LanguageModelState*>& others) const override;
  NamedTensors tensors() const override;
};

/// A Memory Mosaic language model (Zhang et al. 2024, figure 6; blocks in pre-norm form as in the
/// authors' training script): embedding, blocks, norm, logits by the tied embedding. No positions.
class MemoryMosaic : public LanguageModel {
 public:
  static constexpr std::string_view kKind = "memory_mosaic";

  /// Draws the parameters from `seed`; without one they await loading. Throws UsageError where the
  /// configuration makes no network.
  explicit MemoryMosaic(const MemoryMosaicConfig& config, std::optional<uint64_t> seed = 0);

  std::string_view kind() const override { return kKind; }
  config::Json hyper_parameters() const override { return config::to_json(config_); }
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t window() const override { return config_.window; }
  bool reads_past_window() const override { return true; }
  const MemoryMosaicConfig& configuration() const { return config_; }

  at::Tensor hidden(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed = {}) override;
  std::unique_ptr<LanguageModelState> empty_state(MemoryBound bound = {}) const override;
  std::unique_ptr<LanguageModelState> state_from(const TensorFile& file,
                                                 MemoryBound bound) const override;
  at::Tensor read(const at::Tensor& tokens, LanguageModelState& state) override;
  void initialise(uint64_t seed) override;

  MosaicBlock block(int64_t index) const;

 protected:
  const at::Tensor& embedding() const override { return embedding_; }
  double logit_scale() const override;
  ops::Precision precision() const override { return config_.precision; }

 private:
  /// Throws c10::ValueError unless the state is one of this model for `batch` sequences.
  void check_state(const std::vector<MosaicBlockState>& blocks, int64_t batch) const;

  MemoryMosaicConfig config_;
  at::Tensor embedding_;  // [V, C]
  torch::nn::ModuleList blocks_;
  Norm norm_ = nullptr;
};

}  // namespace tessera
