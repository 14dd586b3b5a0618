#pragma once

#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>

#include "tessera/memory/stored_pairs.h"
#include "tessera/model/language_model.h"
#include "tessera/model/norm.h"

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
    field("vocabulary", vocabulary, "number of tokens");
    field("window", window, "tokens of a training window");
    field("layers", layers, "number of blocks");
    field("heads", heads, "attention heads; divides channels");
    field("channels", channels, "width of the network");
    field("positions", positions, "how it knows where a token stands");
    field("gelu", gelu, "form of the feed-forward non-linearity");
    field("bias", bias, "biases in linear maps and norms");
    field("dropout", dropout, "probability, on embeddings, attention weights and layer outputs");
    field("precision", precision, "number format of matrix products");
  }

  /// Throws UsageError that names the field and what it may be.
  void check() const;
};

/// One block: x += attention(norm(x)); x += feed_forward(norm(x)).
class GptBlockImpl : public torch::nn::Module {
 public:
  explicit GptBlockImpl(const GptConfig& config);
  /// x [B, T, C] -> [B, T, C].
  at::Tensor forward(at::Tensor x, std::optional<uint64_t> dropout_seed);
  /// The same, going on from the keys and values stored so far; positions: the tokens that each row
  /// has read before x.
  at::Tensor read(at::Tensor x, StoredPairs& pairs, const std::vector<int64_t>& positions);

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
  at::Tensor attend_and_store(const Heads& heads, StoredPairs& pairs);
  at::Tensor attend_stored(const Heads& heads, StoredPairs& pairs,
                           const std::vector<int64_t>& positions);
  at::Tensor attention_residual(const at::Tensor& reads, std::optional<uint64_t> dropout_seed);
  at::Tensor feed_forward(const at::Tensor& x, std::optional<uint64_t> dropout_seed);

  GptConfig config_;
  at::Tensor alibi_slopes_;  // [H], undefined without ALiBi
};
TORCH_MODULE(GptBlock);

struct GptState : LanguageModelState {
  std::vector<StoredPairs> blocks;  ///< per layer, the keys and values of all tokens
  std::vector<int64_t> positions;   ///< tokens read, per sequence; empty before the first

  std::unique_ptr<LanguageModelState> clone() const override;
  std::unique_ptr<LanguageModelState> select(const std::vector<int64_t>& rows) const override;
  std::unique_ptr<LanguageModelState> stack(
      const std::vector<const LanguageModelState*>& others) const override;
  NamedTensors tensors() const override;
};

/// The GPT-2 architecture (Radford et al. 2019) as nanoGPT writes it, the papers' baseline.
class Gpt : public LanguageModel {
 public:
  static constexpr std::string_view kKind = "gpt";

  /// Draws the parameters from `seed`; without one they await loading. Throws UsageError where the
  /// configuration makes no network.
  explicit Gpt(const GptConfig& config, std::optional<uint64_t> seed = 0);

  std::string_view kind() const override { return kKind; }
  config::Json hyper_parameters() const override { return config::to_json(config_); }
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t window() const override { return config_.window; }
  bool reads_past_window() const override { return config_.positions != Positions::kLearned; }
  const GptConfig& configuration() const { return config_; }

  at::Tensor hidden(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed = {}) override;
  std::unique_ptr<LanguageModelState> empty_state(MemoryBound bound = {}) const override;
  std::unique_ptr<LanguageModelState> state_from(const TensorFile& file,
                                                 MemoryBound bound) const override;
  at::Tensor read(const at::Tensor& tokens, LanguageModelState& state) override;
  void initialise(uint64_t seed) override;

  GptBlock block(int64_t index) const;

 protected:
  const at::Tensor& embedding() const override { return embedding_; }
  double logit_scale() const override { return 1.0; }
  ops::Precision precision() const override { return config_.precision; }

 private:
  /// Throws c10::ValueError unless the state is one of this model, for these sequences, with room
  /// for these tokens.
  void check_state(const GptState& state, const std::vector<int64_t>& positions,
                   const at::Tensor& tokens) const;
  at::Tensor embed(const at::Tensor& tokens, const std::vector<int64_t>& positions) const;

  GptConfig config_;
  at::Tensor embedding_;           // [V, C]
  at::Tensor position_embedding_;  // [window, C], undefined unless learned
  torch::nn::ModuleList blocks_;
  Norm norm_ = nullptr;
};

}  // namespace tessera
