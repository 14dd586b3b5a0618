#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "tessera/base/error.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/run_folder.h"
#include "tessera/train/train_config.h"
#include "tessera/train/training_task.h"

namespace tessera {

class MetricsLog;

/// The loss or the gradient is no longer finite.
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct TrainingResult {
  int64_t step = 0;            ///< updates made; fewer than configured where it ended early
  std::optional<double> loss;  ///< of the last update; none where no update was left to make
  Metrics evaluation;          ///< the last one of this process; empty without one
  std::optional<double> best_validation_loss;
  bool evaluation_is_missing = false;  ///< a signal came before the one after the last step ended
};

/// Trains a module: gradients of `accumulation` micro-batches, clipping, schedule, evaluations,
/// metrics.jsonl and checkpoints/ in the run's folder. A checkpoint is written every
/// checkpoint_every steps, at the end, at an interrupt and after an evaluation better than all
/// before. A process killed at any moment leaves a folder that can be resumed. The caller keeps
/// other processes out of the folder (RunFolder).
/// Where task.processes is set, this process leads: the others run help_training().
class Trainer {
 public:
  /// Throws UsageError on a configuration that makes no sense.
  Trainer(TrainConfig config, TrainingTask task, std::filesystem::path run_folder,
          TrainingObserver* observer = nullptr);
  ~Trainer();

  /// kNew: throws UsageError where the folder already holds a run. kResume: continues after the
  /// latest readable checkpoint, and from the start where there is none; throws UsageError where
  /// it has another seed or digest, DataError where its tensors do not fit the module.
  /// Throws Diverged before an update with a loss or gradient that is not finite; SystemError (disk
  /// full); Interrupted after Ctrl-C before the last step, when a checkpoint is written. After the
  /// last step it returns. With several processes: UsageError where they cannot share an update or
  /// have another configuration; ProcessLost, after which the last checkpoint can be resumed.
  TrainingResult run(Start start);

 private:
  void begin(Start start);
  void resume();
  StepMetrics train_step();
  void report_step(const StepMetrics& metrics);
  /// After the last step, or where patience is at its end or the loss low enough.
  bool has_ended() const;
  /// Of the coming update.
  double learning_rate() const;
  /// Evaluation, sample and checkpoint, where they are due. Throws Interrupted.
  void follow_step();
  /// After resuming: the evaluation that the last step still lacks.
  void finish_last_step();
  /// Returns whether the validation loss is the best so far; false where a signal cut it short.
  bool evaluate();
  void sample();
  void save_checkpoint();
  void warn(const std::string& message);
  double elapsed_seconds() const;
  Interrupted stopped() const;
  std::string advice() const;

  TrainConfig config_;
  TrainingTask task_;
  std::filesystem::path folder_;
  TrainingObserver* observer_;
  std::unique_ptr<Optimizer> optimizer_;
  Checkpoints checkpoints_;
  std::unique_ptr<MetricsLog> log_;
  TrainingState state_;
  TrainingResult result_;
  double started_ = 0.0;        // seconds of the steady clock, less those of earlier processes
  double gradient_norm_ = 0.0;  // of the last update
};

}  // namespace tessera
