#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "tessera/base/error.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/metrics_log.h"
#include "tessera/train/start.h"
#include "tessera/train/train_config.h"
#include "tessera/train/training_observer.h"

namespace tessera {

/// What is trained, and on what. Everything random in it must be a function of its arguments, of
/// the configured seed and of LibTorch's default generator, which the trainer seeds from
/// (seed, step, micro-batch) before each call: then a resumed run repeats the uninterrupted one bit
/// for bit.
struct TrainingTask {
  torch::nn::Module& module;
  /// The mean loss (a scalar with a graph behind it) of one micro-batch. step: updates made before
  /// this one, 0 for the first; micro_batch: 0 … accumulation - 1. The trainer reads the losses of
  /// one step from their device once.
  std::function<at::Tensor(int64_t step, int64_t micro_batch)> loss;
  /// Called without gradients and with the module in evaluation mode; may be empty. May throw
  /// Interrupted after a signal: the step is then saved without it, and a resumed run begins with
  /// it.
  std::function<Metrics()> evaluate;
  /// Tokens (or other units of work) of one update, for the counts in the metrics.
  int64_t tokens_per_step = 0;
  /// Names model and data; a checkpoint with another digest is not resumed.
  std::string digest;
  AdamW::DecayRule decays = decays_by_dimension;
};

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
class Trainer {
 public:
  /// Throws UsageError on a configuration that makes no sense.
  Trainer(TrainConfig config, TrainingTask task, std::filesystem::path run_folder,
          TrainingObserver* observer = nullptr);

  /// kNew: throws UsageError where the folder already holds a run. kResume: continues after the
  /// latest readable checkpoint, and from the start where there is none; throws UsageError where
  /// it has another seed or digest, DataError where its tensors do not fit the module.
  /// Throws Diverged before an update with a loss or gradient that is not finite; SystemError (disk
  /// full); Interrupted after Ctrl-C before the last step, when a checkpoint is written. After the
  /// last step it returns.
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
  void seed_generator(uint64_t draw) const;
  double elapsed_seconds() const;
  Interrupted stopped() const;
  std::string advice() const;

  TrainConfig config_;
  TrainingTask task_;
  std::filesystem::path folder_;
  TrainingObserver* observer_;
  std::unique_ptr<Optimizer> optimizer_;
  Checkpoints checkpoints_;
  std::optional<MetricsLog> log_;
  TrainingState state_;
  TrainingResult result_;
  double started_ = 0.0;        // seconds of the steady clock, less those of earlier processes
  double gradient_norm_ = 0.0;  // of the last update
};

}  // namespace tessera
