#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "tessera/base/error.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/learner.h"
#include "tessera/train/run_folder.h"

namespace tessera {

class MetricsLog;
class Processes;

/// The loss or the gradient is no longer finite.
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One line of metrics.jsonl.
struct StepMetrics {
  int64_t step = 0;            ///< updates made, this one included
  int64_t tokens = 0;          ///< units seen so far
  double loss = 0.0;           ///< mean over the micro-batches, before the update
  double learning_rate = 0.0;  ///< of this update
  double gradient_norm = 0.0;  ///< before it is clipped
  double tokens_per_second = 0.0;
  double elapsed_seconds = 0.0;  ///< since the run began, in all its processes
};

/// Told what happens, in this order within a step; the default does nothing.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  /// step: updates already made.
  virtual void on_start(int64_t /*step*/, int64_t /*steps*/) {}
  virtual void on_step(const StepMetrics&) {}
  virtual void on_batch_evaluated(int64_t /*batch*/, int64_t /*batches*/) {}
  virtual void on_evaluation(int64_t /*step*/, const Metrics&) {}
  virtual void on_sample(int64_t /*step*/, const std::string& /*text*/) {}
  virtual void on_checkpoint(int64_t /*step*/, const std::filesystem::path&) {}
  virtual void on_warning(const std::string& /*message*/) {}
};

struct TrainingResult {
  int64_t step = 0;            ///< updates made
  std::string early_end;       ///< why these are fewer than configured; else empty
  std::optional<double> loss;  ///< of the last update; none where no update was left to make
  std::optional<double> best_validation_loss;
  bool evaluation_is_missing = false;  ///< a signal came before the one after the last step ended
};

/// Trains a learner: gradients of `accumulation` micro-batches, clipping, schedule, evaluations,
/// metrics.jsonl and checkpoints/ in the run's folder. A checkpoint is written every
/// checkpoint_every steps, at the end, at an interrupt and after an evaluation better than all
/// before. A process killed at any moment leaves a folder that can be resumed. The caller keeps
/// other processes out of the folder (RunFolder).
/// With `processes` this one leads: the others run help_training().
class Trainer {
 public:
  Trainer(Learner& learner, std::filesystem::path run_folder, TrainingObserver* observer = nullptr,
          Processes* processes = nullptr);
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
  /// Takes the lines after the last checkpoint from the log: the last that may be refused is done.
  void open_log();
  void resume();
  StepMetrics train_step();
  void report_step(const StepMetrics& metrics);
  /// After the last step, or where patience is at its end or the loss low enough.
  bool has_ended() const { return state_.step >= config_.steps || !early_end().empty(); }
  /// Why the training ends before its last step; empty where it does not.
  std::string early_end() const;
  /// Of the coming update.
  double learning_rate() const;
  /// Evaluation, sample and checkpoint, where they are due. Throws Interrupted.
  void follow_step();
  /// After resuming: the evaluation and the sample that the last step still lacks. Throws
  /// Interrupted.
  void finish_last_step();
  bool is_to_be_evaluated() const;
  /// Whether the last step has an evaluation. Where it found no finite loss, only the log says so.
  bool is_evaluated() const;
  /// Returns whether the validation loss is the best so far; false where a signal cut it short.
  bool evaluate();
  void sample();
  void save_checkpoint();
  void warn(const std::string& message);
  double elapsed_seconds() const;
  Interrupted stopped() const;
  std::string advice() const;

  Learner& learner_;
  const TrainConfig& config_;
  Processes* processes_;
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
