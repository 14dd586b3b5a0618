#pragma once

#include <torch/nn/modules/container/modulelist.h>

#include <nlohmann/json.hpp>

#include "lab/baseline/lstm_layer.h"
#include "lab/baseline/tensor_state.h"
#include "tessera/model/language_model.h"

namespace tessera {

struct LstmConfig {
  int64_t vocabulary = 50304;
  int64_t window = 512;
  int64_t layers = 2;
  int64_t channels = 768;
  double dropout = 0.05;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("vocabulary", vocabulary, "number of tokens", kSizes);
    field("window", window, "tokens of a training window", kSizes);
    field("layers", layers, "number of LSTM layers", kCounts);
    field("channels", channels, "width of the network: of embeddings, hidden states and cells",
          kSizes);
    field("dropout", dropout, "probability, on the embeddings and on the output of each layer",
          config::below(1));
  }

  /// Throws UsageError that names the field and what it may be.
  void check() const;
};

/// An LSTM language model: embedding, LSTM layers (lstm_layer.h), logits by the tied embedding
/// (Press & Wolf 2017). Dropout as in Zaremba et al. 2014: not on the way from step to step. Its
/// state has a fixed size, whatever it has read. Each training window starts from an empty state.
class Lstm : public TensorStateModel<LanguageModel> {
 public:
  static constexpr std::string_view kKind = "lstm";
  using Config = LstmConfig;

  /// As ModelKind::make.
  explicit Lstm(const LstmConfig& config, std::optional<uint64_t> seed = 0,
                at::Device device = at::kCPU);

  std::string_view kind() const override { return kKind; }
  config::Json hyper_parameters() const override { return config::to_json(config_); }
  int64_t vocabulary() const override { return config_.vocabulary; }
  int64_t window() const override { return config_.window; }
  LstmLayer layer(int64_t index) const { return LstmLayer(layers_->ptr<LstmLayerImpl>(index)); }

  at::Tensor hidden(const at::Tensor& tokens, std::optional<uint64_t> dropout_seed = {}) override;
  void initialise(uint64_t seed) override;

 protected:
  const at::Tensor& embedding() const override { return embedding_; }

 private:
  enum Part : size_t { kHidden, kCell };  // of the state, [B, L, C] each

  /// The whole network: ids [B, T] to the outputs of the last layer [B, T, C].
  at::Tensor run(const at::Tensor& ids, Parts& state, std::optional<uint64_t> dropout_seed);
  at::Tensor placed(const at::Tensor& tokens) const override { return placed_tokens(tokens); }
  StateParts state_parts() const override;
  Parts first_state(int64_t B) const override;
  at::Tensor outputs(const at::Tensor& ids, Parts& state, int64_t first_output) override {
    return run(ids, state, {}).slice(1, first_output);
  }

  LstmConfig config_;
  at::Tensor embedding_;  // [V, C]
  torch::nn::ModuleList layers_;
};

}  // namespace tessera
