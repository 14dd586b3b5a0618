#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tessera/base/config.h"
#include "tessera/text/corpus.h"
#include "tessera/train/train_config.h"

namespace tessera {

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
          "the "
          "validation text");
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
  std::string from;  ///< the model directory, or empty
  CorpusConfig data;
  TrainConfig train;
  SampleConfig sample;

  /// Throws UsageError on unknown keys, with the nearest known one, on values that no text, network
  /// or training can have, and on fields that the model of model.from does not have; DataError
  /// where that is no model directory.
  static LanguageModelTrainingConfig from_json(const config::Json& json, const std::string& where);
  config::Json to_json() const;
};

}  // namespace tessera
