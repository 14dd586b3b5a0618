#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/train/run_folder.h"
#include "tessera/train/train_config.h"

namespace tessera {

class Processes;
class StudyResults;

/// Names and values of one evaluation or test. "loss" is the one that ranks checkpoints.
using Metrics = std::map<std::string, double>;

/// How a metric is shown to people.
struct ShownMetric {
  std::string name;   ///< in Metrics
  std::string label;  ///< with its unit: "right answers (%)"
  double factor = 1;  ///< from the metric to the number that is shown
  int decimals = 2;
};

/// What somebody scores who has learned nothing, as the first of Learner::shown() shows it.
struct TrivialScore {
  std::string strategy;
  double value;
};

/// What came of a training. Times and speed are those of all processes that the run had.
struct Trained {
  std::filesystem::path folder;  ///< the run's
  int64_t steps = 0;             ///< updates made; fewer than configured where it ended early
  double seconds = 0;            ///< of training
  double units_per_second = 0;   ///< median over updates
  Metrics validation;            ///< of the weights that were kept; empty: not measured
  Metrics test;                  ///< of the same weights; empty where the learner has no test
  /// What a signal after the last step kept from being measured; a resumed run measures it.
  std::vector<std::string> missing;

  /// NaN: not measured.
  double validation_loss() const;
};

/// What is learned: a module, its loss, how it is measured, and what is shown and kept of it. One
/// function trains every learner: train().
///
/// Everything random in it must be a function of its arguments, of the configured seed and of
/// LibTorch's default generator, which the trainer seeds from (seed, step, micro-batch) before each
/// call: then a resumed run repeats the uninterrupted one bit for bit.
class Learner {
 public:
  /// Told how many batches of a measurement are done.
  using OnBatch = std::function<void(int64_t done, int64_t all)>;

  /// Throws UsageError on a configuration that makes no sense, and as named_device.
  explicit Learner(const TrainConfig& training);
  virtual ~Learner() = default;
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  const TrainConfig& training() const { return training_; }
  virtual torch::nn::Module& module() = 0;
  /// Numbers in the module's parameters.
  int64_t parameter_count();

  /// The mean loss (a scalar with a graph behind it) of one micro-batch. step: updates made before
  /// this one, 0 for the first; micro_batch: 0 … accumulation - 1. The trainer reads the losses of
  /// one step from their device once.
  virtual at::Tensor loss(int64_t step, int64_t micro_batch) = 0;
  /// Called without gradients and with the module in evaluation mode. May throw Interrupted after a
  /// signal: the step is then saved without it, and a resumed run begins with it.
  virtual Metrics evaluate(const OnBatch& on_batch) = 0;
  /// Measures what came of the training, called as evaluate() is. Draws its progress on `progress`
  /// (null: silent). Interrupted after a signal: its message names what was not measured.
  virtual Metrics test(std::FILE* /*progress*/) { return {}; }
  /// A text that shows what the module can do after `step` updates; empty: none. Called, and made
  /// up for after Interrupted, as evaluate() is.
  virtual std::string sample(int64_t /*step*/) { return {}; }
  /// What else the log's line of the last update holds: an object.
  virtual config::Json step_events();

  /// Writes the model directory.
  virtual void save(const std::filesystem::path& folder) = 0;
  /// The tables of the run's config.toml, among them [train], with every default filled in.
  virtual config::Json configuration() const = 0;
  /// The same of a configuration that was written when the run began, maybe by an earlier version.
  /// where: its file, for messages.
  virtual config::Json completed(const config::Json& written, const std::string& where) const = 0;
  /// Names model and data; a checkpoint with another digest is not resumed.
  virtual std::string digest() const = 0;

  /// The kind of what is trained: "stm".
  virtual std::string name() const = 0;
  /// What an update reads: "tokens". units_per_step() of them.
  virtual std::string unit() const = 0;
  virtual int64_t units_per_step() const { return training_.batch * training_.accumulation; }
  /// Throws UsageError where `processes`, more than one, cannot share the updates. Unless
  /// overridden: where train.accumulation is no multiple of them, or train.device not the CPU.
  virtual void check_shares(int64_t processes) const;
  /// The metrics of evaluations and tests, the most important first.
  virtual std::vector<ShownMetric> shown() const = 0;
  virtual std::vector<TrivialScore> trivial_scores() const { return {}; }
  /// Adds to the report of a run what came of it.
  virtual void add_results(const Trained& trained, StudyResults& results);

 private:
  TrainConfig training_;
};

/// Trains a learner into a run directory: config.toml, manifest.json, metrics.jsonl, checkpoints/
/// and, after the last step, model/: the weights with the lowest validation loss, which the module
/// then has. Then tests it. Progress, evaluations and samples go to `progress` (null: silent),
/// under the name `label`. A signal before the last step: Interrupted, after a checkpoint was
/// saved; the same run resumed goes on from there. One after it: the model is saved, and the result
/// names what is missing. A resumed run may change what RunFolder::write_configuration allows.
/// While it runs, denormal numbers count as 0 on x86-64, in the threads of parallel regions too.
/// Otherwise throws what Trainer::run throws. processes: leads these, which call help_training();
/// null: none.
Trained train(Learner& learner, const RunFolder& run, std::FILE* progress, const std::string& label,
              Processes* processes = nullptr);

}  // namespace tessera
