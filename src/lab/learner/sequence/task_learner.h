#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lab/learner/sequence/task_batch.h"
#include "lab/learner/sequence/training_config.h"
#include "tessera/model/sequence_model.h"
#include "tessera/train/learner.h"

namespace tessera::task {

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
