#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "lab/task/regbench/regbench_batch.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/model/language_model.h"
#include "tessera/train/run_folder.h"
#include "tessera/train/train_config.h"

namespace tessera::task {

/// What a model is measured on: languages that it was not trained on (out of distribution), or new
/// strings of those it was trained on (Zhang et al. 2024, table 3).
enum class MeasuredOn { kNewLanguages, kTrainedLanguages };
constexpr std::array<std::string_view, 2> enum_names(MeasuredOn) {
  return {"new-languages", "trained-languages"};
}

struct RegBenchData {
  int64_t languages = 1000;
  int64_t held_out = 250;
  MeasuredOn measured_on = MeasuredOn::kNewLanguages;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("languages", languages, "training languages, one sequence of each, again and again");
    field("held_out", held_out, "validation sequences, and as many test sequences");
    field("measured_on", measured_on, "languages of these sequences");
  }
};

/// A training of a language model on RegBench.
struct RegBenchTrainingConfig {
  RegBenchConfig task;
  RegBenchData data;
  config::Json model = {{"kind", "memory_mosaic"}};  ///< the kind and any of its keys; vocabulary
                                                     ///< and window are the task's
  TrainConfig train;

  /// Throws UsageError on unknown tables and keys, and on values that make no sense.
  static RegBenchTrainingConfig from_json(const config::Json& json, const std::string& where);
  config::Json to_json() const;
  /// Throws UsageError on values that make no sense. Allocates no parameters.
  void check() const;

  /// The sequences of a split. Validation and test have other languages than the training, or other
  /// sequences of the same, by data.measured_on.
  RegBenchSet set(Split split) const;
};

struct TrainedOnRegBench {
  std::shared_ptr<LanguageModel> model;  ///< with the weights of the lowest validation loss
  std::filesystem::path folder;          ///< the run's
  int64_t steps = 0;                     ///< updates made
  double seconds = 0;                    ///< of training, in all processes
  double validation_loss = 0;            ///< nats per symbol, of these weights
  RegBenchScore test;
};

/// Trains a language model on next symbols into a run directory: config.toml, manifest.json,
/// metrics.jsonl, checkpoints/ and, after the last step, model/ (the weights with the lowest
/// validation loss). Then measures it on the test sequences. Progress goes to `progress` (null:
/// silent). Interrupted after a signal: the same run resumed goes on from there. Throws UsageError
/// on a configuration that makes no sense, and what Trainer::run throws.
TrainedOnRegBench train_on_regbench(const RegBenchTrainingConfig& config, const RunFolder& run,
                                    std::FILE* progress, const std::string& label);

/// A model on sequences 0 … count - 1 of a set, `rows` side by side. Throws Interrupted between two
/// batches after a signal.
RegBenchScore score_on_regbench(LanguageModel& model, const RegBench& task, const RegBenchSet& set,
                                int64_t count, int64_t rows);

}  // namespace tessera::task
