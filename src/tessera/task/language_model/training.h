#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/model/language_model.h"
#include "tessera/task/language_model/corpus.h"
#include "tessera/train/trainer.h"

namespace tessera {

/// The [sample] table of a run: what the model is asked to write while it trains, and afterwards.
struct SampleConfig {
  std::string prompt = "And";
  int64_t tokens = 60;
  double temperature = 0.8;
  int64_t top_k = 40;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("prompt", prompt,
          "what the samples go on from; the validation text where the tokenizer lacks it");
    field("tokens", tokens, "length of a sample");
    field("temperature", temperature, "divides the logits; 0 takes the most probable token");
    field("top_k", top_k, "draw from the k most probable tokens; 0 for all");
  }
};

/// A configuration of `tessera train`. [model] names a kind and any of its fields; the vocabulary
/// is the tokenizer's.
struct LanguageModelTrainingConfig {
  config::Json model = {{"kind", "memory_mosaic"}};
  CorpusConfig data;
  TrainConfig train;
  SampleConfig sample;

  /// Throws UsageError on unknown keys, with the nearest known one, and on values that make no
  /// network or no training.
  static LanguageModelTrainingConfig from_json(const config::Json& json, const std::string& where);
  config::Json to_json() const;
};

/// A language model after training, with what its report tells.
struct TrainedLanguageModel {
  std::shared_ptr<LanguageModel> model;  ///< with the weights of the lowest validation loss
  std::filesystem::path folder;          ///< the run's
  double validation_loss = 0;            ///< nats per token, of these weights
  double bits_per_byte = 0;
  double tokens_per_second = 0;       ///< of training, median over steps
  std::vector<double> position_loss;  ///< nats per token by position in the window
  std::string sample;                 ///< prompt and continuation
};

/// Trains a language model on a corpus into a run directory: config.toml, manifest.json,
/// metrics.jsonl, checkpoints/ and, at the end, model/ (the weights with the lowest validation
/// loss, and the tokenizer). Progress, samples and evaluations go to `progress` (null: silent).
/// A resumed run may change how long it trains, its threads, checkpoints and samples, and nothing
/// else: UsageError, before anything is written. DataError where the text is shorter than a window.
/// Otherwise throws what Trainer::run throws.
TrainedLanguageModel train_language_model(const LanguageModelTrainingConfig& config,
                                          const Corpus& corpus, const std::filesystem::path& folder,
                                          Start start, std::FILE* progress);

/// Text that goes on from the sample's prompt, prompt included.
std::string write_sample(LanguageModel& model, const Tokenizer& tokenizer,
                         const SampleConfig& sample, uint64_t seed);

}  // namespace tessera
