#pragma once

#include <torch/nn/modules/linear.h>

#include "tessera/memory/mosaic/tiered_memory.h"
#include "tessera/model/block_network.h"
#include "tessera/model/model_kind.h"

namespace tessera {

struct MemoryMosaicV2Config {
  int64_t vocabulary = 50304;
  int64_t window = 512;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t channels = 768;
  int64_t short_term = 0;
  int64_t delay = 0;
  int64_t longest_delay = 0;
  int64_t persistent_width = 0;
  bool bias = false;
  double dropout = 0.05;
  ops::Precision precision = ops::Precision::kFloat32;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("vocabulary", vocabulary, "number of tokens", kSizes);
    field("window", window, "tokens of a training window", kSizes);
    field("layers", layers, "number of blocks", kCounts);
    field("heads", heads, "heads of each memory tier; divides channels", kCounts);
    field("channels", channels, "width of the network", kSizes);
    field("short_term", short_term,
          "pairs that the short-term memory holds; 0 takes window / 16 (the paper: 256 of 4096)");
    field("delay", delay,
          "tokens before a pair enters the long-term memory; 0 takes window / 64 (the paper: 64)");
    field("longest_delay", longest_delay,
          "each training batch draws its delay, from `delay` to this; 0 takes window / 16");
    field("persistent_width", persistent_width,
          "width of the persistent memory, a SwiGLU layer; 0 takes 3.5 * channels");
    field("bias", bias, "biases in linear maps and norms");
    field("dropout", dropout, "probability, on memory weights and unit outputs", config::below(1));
    field("precision", precision, "number format of matrix products");
  }

  // The fields, or what stands for them where they are 0.
  int64_t short_term_pairs() const;
  int64_t first_delay() const;
  int64_t last_delay() const;
  int64_t swiglu_width() const {
    return persistent_width != 0 ? persistent_width : 7 * channels / 2;
  }
  /// Throws UsageError that names the field and what it may be.
  void check() const;
};

/// One block: x += context(norm(x)); x += persistent(norm(x)), where persistent(x) =
/// W_2 (silu(W_1 x) * W_3 x) is SwiGLU (Shazeer 2020).
class MosaicV2BlockImpl : public NotCloneable {
 public:
  using State = TieredMemoryState;

  MosaicV2BlockImpl(const MemoryMosaicV2Config& config, at::Device device);

  // As BlockNetwork and TracedBlockNetwork ask of a block.
  /// delay: of the long-term memory; the configuration's unless given.
  at::Tensor forward(at::Tensor x, std::optional<uint64_t> dropout_seed,
                     std::optional<int64_t> delay = {});
  std::pair<at::Tensor, BlockTrace> trace(at::Tensor x);
  std::pair<at::Tensor, State> read(at::Tensor x, State state);
  void check_state(const State& state, int64_t batch) const { context->check_state(state, batch); }
  State state_from(const TensorFile& file, const std::string& prefix, PairOptions options) const {
    return context->state_from(file, prefix, options);
  }

  Norm context_norm = nullptr;
  TieredMemory context = nullptr;
  Norm persistent_norm = nullptr;
  torch::nn::Linear expand = nullptr;    ///< W_1 and below it W_3: [2 d', C]
  torch::nn::Linear contract = nullptr;  ///< W_2 [C, d']

 private:
  at::Tensor persistent(const at::Tensor& x, std::optional<uint64_t> dropout_seed);

  MemoryMosaicV2Config config_;
};
TORCH_MODULE(MosaicV2Block);

/// A Memory Mosaic v2 language model (Zhang & Bottou 2025, *Memory Mosaics at scale*): short-term
/// and long-term memories with gated keys and adaptive bandwidths, and a persistent memory that is
/// a feed-forward layer. Embedding, norms and tied logits as MemoryMosaic; no positions.
/// In training (with a dropout seed) the delay of the long-term memory is drawn from the
/// configuration's range, once for the sequences of a batch. Differs from the paper, which draws it
/// for each sequence.
class MemoryMosaicV2 : public TracedBlockNetwork<MemoryMosaicV2Config, MosaicV2Block> {
 public:
  static constexpr std::string_view kKind = "memory_mosaic_v2";

  /// As ModelKind::make.
  explicit MemoryMosaicV2(const MemoryMosaicV2Config& config, std::optional<uint64_t> seed = 0,
                          at::Device device = at::kCPU);

  std::string_view kind() const override { return kKind; }
  at::Tensor hidden(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed = {}) override;
  /// Normal with deviation 1 / sqrt(2 fan_in (layer + 1)), cut at three deviations; embedding
  /// 1 / sqrt(2 C).
  void initialise(uint64_t seed) override;
};

/// Its entry in model_kinds().
ModelKind memory_mosaic_v2_kind();

}  // namespace tessera
