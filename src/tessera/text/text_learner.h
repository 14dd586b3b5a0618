#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/checkpoint/source_model.h"
#include "tessera/data/token_stream.h"
#include "tessera/text/corpus.h"
#include "tessera/train/learner.h"
#include "tessera/train/train_config.h"

namespace tessera {

class LanguageModel;

/// The [sample] table of a run: what the model is asked to write during and after training.
struct SampleConfig {
  std::string prompt = "And";
  int64_t tokens = 60;
  double temperature = 0.8;
  int64_t top_k = 40;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("prompt", prompt,
          "text that the samples continue; where the tokenizer cannot encode it, the beginning of "
          "the validation text");
    field("tokens", tokens, "length of a sample; 0 writes none", config::at_least(0));
    field("temperature", temperature, "divides the logits; 0 takes the most probable token",
          config::at_least(0));
    field("top_k", top_k, "draw from the k most probable tokens; 0 for all", config::at_least(0));
  }
};

/// A configuration of `tessera train`. [model] names a kind and any of its fields; the vocabulary
/// is the tokenizer's. With model.from, a model directory, training goes on from that model: its
/// weights, its tokenizer and its fields, of which dropout and precision may be changed.
struct LanguageModelTrainingConfig {
  config::Json model = {{"kind", "memory_mosaic"}};
  SourceModel from;  ///< model.from
  CorpusConfig data;
  TrainConfig train;
  SampleConfig sample;

  /// begun: the [model] table of a run that goes on from a checkpoint, which needs the model of
  /// model.from no more; null: the run begins.
  /// Throws UsageError on unknown keys, with the nearest known one, on values that no text, network
  /// or training can have, and on fields that the model of model.from does not have; DataError
  /// where that is no model directory.
  static LanguageModelTrainingConfig from_json(const config::Json& json, const std::string& where,
                                               const config::Json& begun = nullptr);
  config::Json to_json() const;
};

/// The loss at every position of a window, over windows spread evenly through a validation text.
struct PositionLoss {
  std::vector<double> nats;  ///< per token, by position in the window; empty: not measured
  int64_t windows = 0;       ///< measured
  int64_t planned = 0;       ///< as many as were to be measured
};

/// Windows to measure after a training: a tenth of those that it read, from 8 to 256. Reading a
/// window takes about a third of the time of training on it, so that the measurement takes a few
/// hundredths of the training's time, however large the model.
int64_t position_loss_windows(const TrainConfig& config);

/// Measures `windows` windows, `batch` at a time, and draws its progress on `progress` (null:
/// silent). While an InterruptGuard lives a signal ends it between two batches with what there is.
PositionLoss measure_position_loss(LanguageModel& model, const Corpus& corpus, int64_t windows,
                                   int64_t batch, std::FILE* progress);

/// A language model that learns to predict the next token of a corpus. Validation: the loss in nats
/// per token and bits per byte. After training it measures the loss by position and writes a
/// sample, in a small share of the time that the training took.
class TextLearner : public Learner {
 public:
  /// Refers to the corpus. DataError where the text is shorter than a window, or model.from holds
  /// no model to train on. UsageError where the model does not fit into memory
  /// (check_training_memory) or the configuration makes no sense.
  TextLearner(const LanguageModelTrainingConfig& config, const Corpus& corpus);

  const std::shared_ptr<LanguageModel>& model() const { return model_; }
  /// What test() found.
  const PositionLoss& position_loss() const { return position_loss_; }
  /// The sample's prompt and its continuation; empty before test().
  const std::string& written() const { return written_; }

  torch::nn::Module& module() override;
  at::Tensor loss(int64_t step, int64_t micro_batch) override;
  Metrics evaluate(const OnBatch& on_batch) override;
  Metrics test(std::FILE* progress) override;
  std::string sample(int64_t step) override;

  void save(const std::filesystem::path& folder) override;
  config::Json configuration() const override;
  config::Json completed(const config::Json& written, const std::string& where) const override;
  std::string digest() const override;

  std::string name() const override;
  std::string unit() const override { return "tok"; }
  int64_t units_per_step() const override;
  std::vector<ShownMetric> shown() const override;
  void add_results(const Trained& trained, StudyResults& results) override;

 private:
  LanguageModelTrainingConfig config_;
  SampleConfig sample_;  // with a prompt that the tokenizer knows
  const Corpus& corpus_;
  std::shared_ptr<LanguageModel> model_;
  WindowSampler sampler_;  // of the training text
  TokenBatch validation_;  // all windows
  PositionLoss position_loss_;
  std::string written_;
};

}  // namespace tessera
