#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tessera/text/corpus.h"
#include "tessera/text/position_loss.h"
#include "tessera/text/training_config.h"
#include "tessera/train/run_folder.h"

namespace tessera {

class LanguageModel;
class Processes;

/// A language model after training, with what its report shows.
struct TrainedLanguageModel {
  std::shared_ptr<LanguageModel> model;  ///< with the weights of the lowest validation loss
  std::filesystem::path folder;          ///< the run's
  double validation_loss = 0;            ///< nats per token, of these weights; NaN: not measured
  double bits_per_byte = 0;
  double tokens_per_second = 0;  ///< of training, median over steps
  PositionLoss position_loss;
  std::string sample;  ///< prompt and continuation
  /// What a signal after the last step kept from being measured; a resumed run measures it.
  std::vector<std::string> missing;
};

/// Trains a language model on a corpus into a run directory: config.toml, manifest.json,
/// metrics.jsonl, checkpoints/ and, after the last step, model/ (the weights with the lowest
/// validation loss, and the tokenizer). Then measures what a report shows, in a small share of the
/// time that the training took. Progress, samples and evaluations go to `progress` (null: silent).
/// A signal before the last step: Interrupted, after a checkpoint was saved. One after it: the
/// model is saved and what is then missing is named in the result. A resumed run may change how
/// long it trains, its threads, checkpoints and samples, and nothing else: UsageError, before
/// anything is written. DataError where the text is shorter than a window. UsageError where the
/// model does not fit into memory (check_training_memory). Otherwise throws what Trainer::run
/// throws.
/// processes: leads these, which call help_train_language_model(); null: none.
TrainedLanguageModel train_language_model(const LanguageModelTrainingConfig& config,
                                          const Corpus& corpus, const RunFolder& run,
                                          std::FILE* progress, Processes* processes = nullptr);

/// Takes its share of every update of a training that another process leads, until that ends
/// (help_training).
void help_train_language_model(const LanguageModelTrainingConfig& config, const Corpus& corpus,
                               Processes& processes);

/// The sample's prompt and the model's continuation of it. on_token: called with the tokens written
/// so far. A signal ends the text early while an InterruptGuard lives.
std::string write_sample(LanguageModel& model, const Tokenizer& tokenizer,
                         const SampleConfig& sample, uint64_t seed,
                         const std::function<void(int64_t)>& on_token = {});

}  // namespace tessera
