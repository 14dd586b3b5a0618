#pragma once

#include <torch/nn/modules/linear.h>

#include "tessera/memory/stored_pairs.h"
#include "tessera/model/block_network.h"
#include "tessera/model/model_kind.h"

namespace tessera {

/// How the network knows where a token stands. kLearned: an embedding per position of the window
/// (GPT-2); kRotary: keys and queries are turned (Su et al. 2021); kAlibi: scores fall off with
/// distance (Press et al. 2022).
enum class Positions { kLearned, kRotary, kAlibi };
constexpr std::array<std::string_view, 3> enum_names(Positions) {
  return {"learned", "rotary", "alibi"};
}

/// The feed-forward layer's non-linearity: the exact GELU (nanoGPT) or its tanh approximation
/// (GPT-2).
enum class Gelu { kExact, kTanh };
constexpr std::array<std::string_view, 2> enum_names(Gelu) {
  return {"exact", "tanh"};
}

struct GptConfig {
  int64_t vocabulary = 50304;
  int64_t window = 512;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t channels = 768;
  Positions positions = Positions::kLearned;
  Gelu gelu = Gelu::kExact;
  bool bias = false;
  double dropout = 0.05;
  ops::Precision precision = ops::Precision::kFloat32;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("vocabulary", vocabulary, "number of tokens", kSizes);
    field("window", window, "tokens of a training window", kSizes);
    field("layers", layers, "number of blocks", kCounts);
    field("heads", heads, "attention heads; divides channels", kCounts);
    field("channels", channels, "width of the network", kSizes);
    field("positions", positions, "how it knows where a token stands");
    field("gelu", gelu, "form of the feed-forward non-linearity");
    field("bias", bias, "biases in linear maps and norms");
    field("dropout", dropout, "probability, on embeddings, attention weights and layer outputs",
          config::below(1));
    field("precision", precision, "number format of matrix products");
  }

  /// Throws UsageError that names the field and what it may be.
  void check() const;
};

/// One block: x += attention(norm(x)); x += feed_forward(norm(x)).
class GptBlockImpl : public NotCloneable {
 public:
  using State = StoredPairs;  ///< the keys and values of all tokens

  GptBlockImpl(const GptConfig& config, at::Device device);

  // As BlockNetwork and TracedBlockNetwork ask of a block.
  at::Tensor forward(at::Tensor x, std::optional<uint64_t> dropout_seed);
  std::pair<at::Tensor, BlockTrace> trace(at::Tensor x);
  std::pair<at::Tensor, State> read(at::Tensor x, State pairs);
  void check_state(const State& pairs, int64_t batch) const;
  State state_from(const TensorFile& file, const std::string& prefix, PairOptions options) const;

  Norm attention_norm = nullptr;
  torch::nn::Linear query_key_value = nullptr;  ///< [3C, C]
  torch::nn::Linear attention_output = nullptr;
  Norm feed_forward_norm = nullptr;
  torch::nn::Linear expand = nullptr;    ///< [4C, C]
  torch::nn::Linear contract = nullptr;  ///< [C, 4C]

  struct Heads {
    at::Tensor queries, keys, values;  ///< [B, T, H, D]
  };

 private:
  Heads heads_of(const at::Tensor& x, const std::vector<int64_t>& positions);
  at::Tensor attend(const Heads& heads, std::optional<uint64_t> dropout_seed);
  Heads with_position_channel(const Heads& heads, const std::vector<int64_t>& positions) const;
  at::Tensor attention_residual(const at::Tensor& reads, std::optional<uint64_t> dropout_seed);
  at::Tensor feed_forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed);

  int64_t key_width() const {  // with ALiBi a channel more, the position's
    return config_.channels / config_.heads + (alibi_slopes_.defined() ? 1 : 0);
  }

  GptConfig config_;

  at::Tensor alibi_slopes_;  // [H], undefined without ALiBi
};
TORCH_MODULE(GptBlock);

/// The GPT-2 architecture (Radford et al. 2019) as nanoGPT writes it, the papers' baseline.
class Gpt : public TracedBlockNetwork<GptConfig, GptBlock> {
 public:
  static constexpr std::string_view kKind = "gpt";

  /// As ModelKind::make.
  explicit Gpt(const GptConfig& config, std::optional<uint64_t> seed = 0,
               at::Device device = at::kCPU);

  std::string_view kind() const override { return kKind; }
  bool reads_past_window() const override { return config_.positions != Positions::kLearned; }
  /// With ALiBi positions in float32 alone, since a key keeps its position as one of its channels.
  void keep_pairs_in(ops::WeightType type) override;
  /// All but the positions, of which one row is added to each token.
  std::vector<std::string> weight_matrices() const override;
  void initialise(uint64_t seed) override;

 protected:
  at::Tensor embed(const at::Tensor& tokens, const std::vector<StoredPairs>& blocks,
                   std::optional<uint64_t> dropout_seed) const override;

 private:
  at::Tensor position_embedding_;  // [window, C], undefined unless learned
};

/// Its entry in model_kinds(). Formats: nanoGPT, and GPT-2 as Hugging Face keeps it.
ModelKind gpt_kind();

}  // namespace tessera
