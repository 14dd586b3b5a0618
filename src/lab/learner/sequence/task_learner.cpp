#include "lab/learner/sequence/task_learner.h"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>
#include <ranges>

#include "lab/learner/task_tables.h"
#include "lab/task/sequence/draws.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/checkpoint/source_model.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/language_model.h"
#include "tessera/model/model_kind.h"

namespace tessera::task {
namespace {

using config::Json;

constexpr double kPercent = 100;

std::shared_ptr<SequenceModel> make_model(const TaskTrainingConfig& config,
                                          const TaskShape& shape) {
  const auto [kind, fields] = config.model_for(shape);
  auto model = model_kind(kind).make(fields, config.train.seed, at::kCPU);
  if (!config.from.empty()) copy_weights(config.from, *model);
  return model;
}

at::Device device_of(const SequenceModel& model) {
  return model.parameters().front().device();
}

/// The outputs of the steps from the first answer on, [T - first_answer, B, out]; of a language
/// model, whose logits are as many as there are tokens, those of the answers alone, [n, V].
at::Tensor answers_of(SequenceModel& model, const TaskBatch& batch,
                      std::optional<uint64_t> dropout_seed = {}) {
  const at::Tensor inputs = batch.inputs.transpose(0, 1).contiguous();  // [B, T, in] or [B, T]
  const at::Tensor outputs =
      model.forward(inputs, dropout_seed, batch.first_answer).transpose(0, 1);
  auto* language_model = dynamic_cast<LanguageModel*>(&model);
  if (language_model == nullptr) return outputs;
  return language_model->logits(outputs.index({batch.answers.slice(0, batch.first_answer)}));
}

/// The numbers of the first `count` samples of a split, or of as many as there are, in batches.
std::vector<std::vector<int64_t>> samples_of(const SequenceTask& task, int64_t count,
                                             int64_t rows) {
  return batches_in_order(std::min(count, task.samples().value_or(count)), rows);
}

std::vector<TaskBatch> batches_of(const SequenceTask& task, uint64_t seed, int64_t count,
                                  int64_t rows) {
  std::vector<TaskBatch> batches;
  for (const auto& samples : samples_of(task, count, rows))
    batches.push_back(make_batch(task, seed, samples, BatchSizes::kOwn));
  return batches;
}

/// batches: TaskBatches, each of which may be made when it is read.
template <std::ranges::sized_range Batches>
Metrics measure_batches(SequenceModel& model, const Batches& batches,
                        const Learner::OnBatch& on_batch) {
  const at::NoGradGuard no_grad;
  TaskScore score;
  double loss = 0;
  int64_t done = 0;
  bool of_vectors = false;
  for (const TaskBatch& on_host : batches) {
    InterruptGuard::stop_if_interrupted("the score on test samples");
    const TaskBatch batch = on_host.to(device_of(model));
    const at::Tensor answers = answers_of(model, batch);
    const TaskScore of_batch = score_answers(answers, batch);
    loss += answer_loss(answers, batch).item().toDouble() * static_cast<double>(of_batch.symbols);
    score += of_batch;
    of_vectors = batch.kind == TargetKind::kVectors;
    on_batch(++done, std::ranges::ssize(batches));
  }
  Metrics metrics = {{"loss", loss / static_cast<double>(score.symbols)},
                     {"wrong_per_sequence", score.wrong_per_sequence()},
                     {"accuracy", score.accuracy()},
                     {"padded_accuracy", score.padded_accuracy()},
                     {"perfect_share", score.perfect_share()}};
  if (of_vectors) metrics["mean_absolute_error"] = score.mean_absolute_error();
  return metrics;
}

/// Which samples make up draw `draw` of the training.
std::function<std::vector<int64_t>(int64_t draw)> sample_order(const TaskTrainingConfig& config,
                                                               const SequenceTask& task) {
  const int64_t rows = config.train.batch;
  const int64_t samples = task.samples().value_or(config.data.training_samples);
  if (samples == 0) return [rows](int64_t draw) { return fresh_samples(draw, rows); };
  return [order = EpochOrder(config.train.seed, samples, rows)](int64_t draw) mutable {
    return order.samples(draw);
  };
}

}  // namespace

TaskLearner::TaskLearner(const TaskTrainingConfig& config)
    : TaskLearner(config, config::checked(config).make_sets()) {}

TaskLearner::TaskLearner(const TaskTrainingConfig& config, TaskSets sets)
    : Learner(config.train),
      config_(config),
      sets_(std::move(sets)),
      model_(make_model(config, sets_.training->shape())),
      samples_(sample_order(config, *sets_.training)),
      validation_(batches_of(*sets_.validation, split_seed(config.train.seed, Split::kValidation),
                             config.train.evaluate_batches * config.train.batch,
                             config.train.batch)) {
  check_argument(sets_.validation->shape() == sets_.training->shape() &&
                     sets_.test->shape() == sets_.training->shape(),
                 "TaskLearner: training, validation and test have inputs or outputs of different "
                 "widths");
}

const SequenceTask& TaskLearner::practised(int64_t step) {
  if (config_.data.growing_steps == 0) return *sets_.training;
  Json table = config_.training_task_at(step);
  if (table != practised_) {
    sets_.training = make_task(table);
    practised_ = std::move(table);
  }
  return *sets_.training;
}

at::Tensor TaskLearner::loss(int64_t step, int64_t micro_batch) {
  const int64_t draw = step * training().accumulation + micro_batch;
  const TaskBatch batch =
      make_batch(practised(step), split_seed(training().seed, Split::kTraining), samples_(draw))
          .to(device_of(*model_));
  return answer_loss(answers_of(*model_, batch, derived_seed(training().seed, draw)), batch);
}

Metrics TaskLearner::evaluate(const OnBatch& on_batch) {
  return measure_batches(*model_, validation_, on_batch);
}

Metrics TaskLearner::test(std::FILE* progress) {
  return test_on(*sets_.test, progress);
}

Metrics TaskLearner::test_on(const SequenceTask& task, std::FILE* progress) {
  const int64_t count = task.samples().value_or(config_.data.test_samples);
  Progress bar(progress, "Test", count);
  return task::measure(*model_, task, split_seed(training().seed, Split::kTest), count,
                       training().batch,
                       [&](int64_t done, int64_t all) { bar.update(count * done / all); });
}

void TaskLearner::save(const std::filesystem::path& folder) {
  save_model(folder, *model_);
}

Json TaskLearner::configuration() const {
  Json resolved = config_.to_json();
  resolved["task"] = config_.complete_task();
  resolved["model"] = with_source_model(model_table(*model_), config_.from);
  return resolved;
}

Json TaskLearner::completed(const Json& written, const std::string& where) const {
  auto began = TaskTrainingConfig::from_json(written, where);
  began.task = began.complete_task();
  return began.to_json();
}

std::string TaskLearner::digest() const {
  return digest_of(configuration(), {"task", "training_task", "model", "data"});
}

std::vector<ShownMetric> TaskLearner::shown() const {
  return shown_metrics(*sets_.test);
}

std::vector<TrivialScore> TaskLearner::trivial_scores() const {
  std::vector<TrivialScore> scores;
  for (const auto& [strategy, metric, value] : sets_.test->levels())
    scores.push_back({strategy, metric == "accuracy" ? kPercent * value : value});
  return scores;
}

Metrics measure(SequenceModel& model, const SequenceTask& task, uint64_t seed, int64_t count,
                int64_t rows, const Learner::OnBatch& on_batch) {
  const auto batches = samples_of(task, count, rows);
  const auto made = std::views::transform(batches, [&](const std::vector<int64_t>& samples) {
    return make_batch(task, seed, samples, BatchSizes::kOwn);
  });
  return measure_batches(model, made, on_batch);
}

std::vector<ShownMetric> shown_metrics(const SequenceTask& task) {
  const ShownMetric faultless = {"perfect_share", "faultless sequences (%)", kPercent};
  std::vector<ShownMetric> metrics;
  switch (task.shape().targets) {
    case TargetKind::kBits:
      metrics = {{"wrong_per_sequence", "wrong bits per sequence"},
                 faultless,
                 {"loss", "loss (nats/bit)", 1, 4}};
      break;
    case TargetKind::kClasses:
      metrics = {{"accuracy", "right answers (%)", kPercent},
                 faultless,
                 {"loss", "loss (nats/answer)", 1, 4}};
      break;
    case TargetKind::kVectors:
      metrics = {{"mean_absolute_error", "mean absolute error", 1, 4},
                 {"loss", "loss (clipped squared error)", 1, 4}};
      break;
  }
  if (task.pads_answers())
    metrics.push_back({"padded_accuracy", "padding counted as right (%)", kPercent});
  return metrics;
}

}  // namespace tessera::task
