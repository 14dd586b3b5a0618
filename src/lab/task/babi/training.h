#pragma once

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "lab/task/babi/babi_data.h"
#include "tessera/model/question_answerer.h"
#include "tessera/train/run_folder.h"
#include "tessera/train/train_config.h"

namespace tessera::task {

/// The [train] table's defaults for bAbI: those of Le et al. 2020, appendix J, where their code has
/// 0.0006 for the paper's learning rate of 0.006. `batch` counts questions; an epoch of all tasks
/// has 1,400 updates.
TrainConfig default_babi_training();

/// A joint training on bAbI tasks.
struct BabiTrainingConfig {
  BabiConfig data;
  QuestionAnswererConfig model;       ///< vocabulary and words are those of the data
  int64_t validation_stories = 1000;  ///< of each task
  TrainConfig train = default_babi_training();

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("data", data, "which tasks, from which files");
    field("model", model, "its sizes; vocabulary and words are those of the data");
    field("validation_stories", validation_stories, "of each task, read in an evaluation");
    field("train", train, "how it is trained");
  }
};

/// How questions were answered.
struct BabiScore {
  int64_t questions = 0, wrong = 0;
  double nats = 0;  ///< cross-entropy of all together

  /// Share of wrong answers.
  double error() const { return static_cast<double>(wrong) / static_cast<double>(questions); }
};

struct TrainedOnBabi {
  std::shared_ptr<QuestionAnswerer> model;  ///< with the weights of the lowest validation loss
  int64_t steps = 0;                        ///< updates made
  double seconds = 0;                       ///< of training, in all processes
  std::map<int64_t, BabiScore> test;        ///< all test questions, by task
};

/// Trains one model on all tasks together, each update on one of them (draw_babi), into a run
/// directory: config.toml, manifest.json, metrics.jsonl, checkpoints/ and, after the last step,
/// model/ (the weights with the lowest mean validation loss, and words.json, the vocabulary). Then
/// measures it on the test questions. Progress goes to `progress` (null: silent). Interrupted after
/// a signal: the same run resumed goes on from there. Throws UsageError on a configuration that
/// makes no sense, and what Trainer::run throws.
TrainedOnBabi train_on_babi(const BabiTrainingConfig& config, const BabiData& data,
                            const RunFolder& run, std::FILE* progress);

/// How a model answers the questions of one task. limit: of that many stories (0: all). Throws
/// Interrupted between two batches after a signal.
BabiScore score_babi(QuestionAnswerer& model, const BabiData& data, int64_t task, Split split,
                     int64_t limit = 0);

}  // namespace tessera::task
