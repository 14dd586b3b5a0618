#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lab/learner/sequence/task_batch.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/config.h"
#include "tessera/checkpoint/source_model.h"
#include "tessera/model/sequence_model.h"
#include "tessera/train/learner.h"
#include "tessera/train/train_config.h"

namespace tessera::task {

/// The [data] table: how many samples of the task there are.
struct SampleSets {
  int64_t training_samples = 0;
  int64_t test_samples = 1280;
  int64_t growing_steps = 0;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("training_samples", training_samples,
          "samples to learn from, again and again (0: endless, each seen once)",
          config::between(0, 0x1p40));
    field("test_samples", test_samples, "samples that the trained model is measured on",
          config::between(1, 0x1p40));
    field("growing_steps", growing_steps,
          "updates in which the numbers of [training_task] grow to those of [task] (0: never)",
          config::between(0, 0x1p40));
  }
};

/// The [train] table's defaults for tasks: those of Le et al. 2020, appendices F and H, as their
/// code has them (smoothing, momentum and the clipping are not in the text).
TrainConfig default_task_training();

/// The task of a table [task]: its name and any of its keys. Throws UsageError.
std::unique_ptr<SequenceTask> make_task(config::Json table);

/// What is learned, what ranks the weights, and what they are tested on: one task, of which each
/// takes samples by another seed, or one task each.
struct TaskSets {
  std::shared_ptr<const SequenceTask> training, validation, test;
};

/// A configuration of `tessera train` for a sequence model on a task.
struct TaskTrainingConfig {
  /// [task]: the name and any of the task's keys; or the files of a task of one's own (FileTask),
  /// "file" for training, "validation" and "test"; or, for samples that the caller makes, "own", a
  /// name for them.
  config::Json task = {{"name", "copy"}};
  /// [training_task]: keys of [task] that have another value for the samples that are trained on,
  /// for example easier ones.
  config::Json training_task = config::Json::object();
  config::Json model = {{"kind", "stm"}};  ///< [model]: the kind and any of its keys
  SourceModel from;                        ///< model.from
  SampleSets data;
  TrainConfig train = default_task_training();

  /// begun: the [model] table of a run that goes on from a checkpoint, which needs the model of
  /// model.from no more; null: the run begins. Throws UsageError on unknown keys, with the nearest
  /// known one, and as check().
  static TaskTrainingConfig from_json(const config::Json& json, const std::string& where,
                                      const config::Json& begun = nullptr);
  /// Throws UsageError on values that no task, network or training can have, also where the task
  /// comes to them while it grows, and on a model whose inputs or outputs are not those of the
  /// task.
  void check() const;
  config::Json to_json() const;

  /// The [task] table of the samples that are trained on after `step` updates: with the values of
  /// [training_task], which within data.growing_steps go evenly to those of [task].
  config::Json training_task_at(int64_t step) const;
  /// The tasks of [task] and [training_task]; of files, read from them. Throws UsageError, and
  /// SystemError and DataError as FileTask does.
  TaskSets make_sets() const;
  /// Whether the samples are made here, by the name of their task.
  bool is_named() const { return task.contains("name"); }
  /// The [task] table with every default filled in.
  config::Json complete_task() const;
  /// The kind of the model, and its keys with the task's widths filled in. A model of vectors that
  /// is to read tokens becomes one that is "embedded", its own "inputs" being the width of the
  /// embedding; a language model reads tokens as it is, and its "window" stays as it is.
  std::pair<std::string, config::Json> model_for(const TaskShape& shape) const;
};

/// A sequence model that learns a task. It is measured by answer_loss() and by score_answers(), on
/// samples of all sizes side by side, after training on samples that it has not seen.
class TaskLearner : public Learner {
 public:
  /// Throws UsageError on a configuration that makes no sense.
  explicit TaskLearner(const TaskTrainingConfig& config);
  /// Learns tasks of the caller's own, all of one shape, whose name is in config.task as "own".
  TaskLearner(const TaskTrainingConfig& config, TaskSets sets);

  SequenceModel& model() { return *model_; }

  torch::nn::Module& module() override { return *model_; }
  at::Tensor loss(int64_t step, int64_t micro_batch) override;
  Metrics evaluate(const OnBatch& on_batch) override;
  Metrics test(std::FILE* progress) override;
  /// The metrics on as many test samples of another task of the same shape.
  Metrics test_on(const SequenceTask& task, std::FILE* progress);

  void save(const std::filesystem::path& folder) override;
  config::Json configuration() const override;
  config::Json completed(const config::Json& written, const std::string& where) const override;
  std::string digest() const override;

  std::string name() const override { return std::string(model_->kind()); }
  std::string unit() const override { return "sequences"; }
  std::vector<ShownMetric> shown() const override;
  std::vector<TrivialScore> trivial_scores() const override;

 private:
  /// The task of the samples that are trained on after `step` updates.
  const SequenceTask& practised(int64_t step);
  TaskTrainingConfig config_;
  TaskSets sets_;
  config::Json practised_;  // the table of sets_.training, where it grows
  std::shared_ptr<SequenceModel> model_;
  std::function<std::vector<int64_t>(int64_t draw)> samples_;  // of a micro-batch
  std::vector<TaskBatch> validation_;
};

/// What TaskScore says of a model, and "loss", the mean over all symbols, on the first `count`
/// samples of the set named by `seed`, or as many as there are, each of its own size, `rows` at a
/// time. Throws UsageError where the model does not fit the task, and Interrupted.
Metrics measure(SequenceModel& model, const SequenceTask& task, uint64_t seed, int64_t count,
                int64_t rows, const Learner::OnBatch& on_batch);

/// The metrics of such a task, the paper's first.
std::vector<ShownMetric> shown_metrics(const SequenceTask& task);

}  // namespace tessera::task
