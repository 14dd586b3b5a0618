#include "lab/learner/sequence/task_learner.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <ranges>

#include "lab/learner/sequence/file_task.h"
#include "lab/learner/task_tables.h"
#include "lab/task/sequence/draws.h"
#include "lab/task/sequence/task_kinds.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/language_model.h"
#include "tessera/model/model_kind.h"

namespace tessera::task {
namespace {

using config::Json;

constexpr double kPercent = 100;

/// Takes the name of the task out of a table [task].
std::string taken_name(Json& table) {
  if (!table.is_object() || !table.contains("name") || !table["name"].is_string())
    throw UsageError("task is {}, expected a table with 'name', a name", table.dump());
  std::string name = table["name"];
  table.erase("name");
  return name;
}

/// A table [task] with files.
struct FileTaskConfig {
  std::string file, validation, test;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("file", file, "samples to learn from", config::required());
    field("validation", validation, "samples that choose the best weights", config::required());
    field("test", test, "samples that the trained model is measured on", config::required());
  }
};

/// Throws UsageError unless the task that is trained on after `step` updates is one of this shape.
void check_training_task(const TaskTrainingConfig& config, int64_t step, const TaskShape& shape) {
  const Json table = config.training_task_at(step);
  const std::string grown =
      step == 0 ? "" : fmt::format("after {} updates [task] is {}", step, table.dump());
  if (config::saying_where(grown, [&] { return make_task(table)->shape(); }) != shape)
    throw UsageError(
        "training_task is {}: with these keys inputs or outputs have other widths than those of "
        "[task]",
        config.training_task.dump());
}

/// The update after `step` at which the next of the numbers that grow has grown by 1; beyond
/// data.growing_steps where there is none.
int64_t next_growth(const TaskTrainingConfig& config, int64_t step) {
  const int64_t steps = config.data.growing_steps;
  if (step >= steps) return steps + 1;
  const Json now = config.training_task_at(step), last = config.complete_task();
  int64_t next = steps + 1;
  for (const auto& [key, first] : config.training_task.items()) {
    const auto begin = first.get<int64_t>();
    const int64_t gone = std::abs(now.at(key).get<int64_t>() - begin);
    const int64_t all = std::abs(last.at(key).get<int64_t>() - begin);
    if (gone < all) next = std::min(next, ((gone + 1) * steps + all - 1) / all);
  }
  return next;
}

std::shared_ptr<SequenceModel> make_model(const TaskTrainingConfig& config,
                                          const TaskShape& shape) {
  const auto [kind, fields] = config.model_for(shape);
  auto model = model_kind(kind).make(fields, config.train.seed, at::kCPU);
  copy_weights(config.from, *model);
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
  std::vector<int64_t> lengths;  // of the answers
  for (const TaskBatch& on_host : batches) {
    InterruptGuard::stop_if_interrupted("the score on test samples");
    const TaskBatch batch = on_host.to(device_of(model));
    const at::Tensor answers = answers_of(model, batch);
    const TaskScore of_batch = score_answers(answers, batch);
    loss += answer_loss(answers, batch).item().toDouble() * static_cast<double>(of_batch.symbols);
    score += of_batch;
    of_vectors = batch.kind == TargetKind::kVectors;
    const at::Tensor answered = on_host.answers.sum(0);  // [B]
    lengths.insert(lengths.end(), answered.data_ptr<int64_t>(),
                   answered.data_ptr<int64_t>() + answered.numel());
    on_batch(++done, std::ranges::ssize(batches));
  }
  const int64_t steps = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  score.padding = padding_steps(lengths) * (score.symbols / std::max<int64_t>(steps, 1));
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

TrainConfig default_task_training() {
  return {.steps = 10000,
          .batch = 128,
          .learning_rate = 1e-4,
          .min_learning_rate = 1e-4,
          .warmup_steps = 0,
          .optimizer = OptimizerKind::kRmsprop,
          .smoothing = 0.95,
          .clip = 0,
          .clip_value = 10,
          .evaluate_every = 200,
          .checkpoint_every = 200,
          .seed = 1};
}

std::unique_ptr<SequenceTask> make_task(Json table) {
  const std::string name = taken_name(table);
  return task_kind(name).make(table);
}

TaskTrainingConfig TaskTrainingConfig::from_json(const Json& json, const std::string& where,
                                                 const Json& begun) {
  TaskTrainingConfig config;
  config::read_tables(json,
                      {{"task", &config.task},
                       {"training_task", &config.training_task},
                       {"model", &config.model},
                       {"data", config::fields_of(config.data)},
                       {"train", config::fields_of(config.train)}},
                      where);
  config::saying_where(where, [&] {
    config.from = take_source_model(config.model, begun);
    config.check();
  });
  return config;
}

void TaskTrainingConfig::check() const {
  check_task_training(train);
  config::check_demands(data, "data");
  if (data.training_samples > 0 && data.training_samples < train.batch)
    throw UsageError("data.training_samples is {}, expected at least train.batch, {}",
                     data.training_samples, train.batch);
  if (task.is_object() && !is_named()) return;  // its samples are elsewhere
  if (data.growing_steps > 0 && training_task.empty())
    throw UsageError(
        "data.growing_steps is {}, but [training_task] has no numbers that would grow; leave it "
        "out",
        data.growing_steps);
  const TaskShape shape = make_task(task)->shape();
  const auto [kind, fields] = model_for(shape);
  for (int64_t step = 0; step <= data.growing_steps; step = next_growth(*this, step))
    check_training_task(*this, step, shape);
  model_kind(kind).make(fields, std::nullopt, at::kMeta);
}

Json TaskTrainingConfig::to_json() const {
  return {{"task", task},
          {"training_task", training_task},
          {"model", with_source_model(model, from)},
          {"data", config::to_json(data)},
          {"train", config::to_json(train)}};
}

Json TaskTrainingConfig::training_task_at(int64_t step) const {
  if (!training_task.is_object() || training_task.contains("name"))
    throw UsageError(
        "training_task is {}, expected a table of keys that [task] has, without a name",
        training_task.dump());
  Json settings = complete_task();
  for (const auto& [key, first] : training_task.items()) {
    if (data.growing_steps == 0 || !settings.contains(key)) {
      settings[key] = first;
      continue;
    }
    if (!first.is_number_integer() || !settings[key].is_number_integer())
      throw UsageError(
          "training_task.{} is {} and task.{} is {}; data.growing_steps lets whole numbers grow "
          "alone",
          key, first.dump(), key, settings[key].dump());
    const auto begin = first.get<int64_t>(), end = settings[key].get<int64_t>();
    settings[key] = begin + (end - begin) * std::min(step, data.growing_steps) / data.growing_steps;
  }
  return settings;
}

TaskSets TaskTrainingConfig::make_sets() const {
  if (is_named()) {
    const std::shared_ptr<const SequenceTask> measured = make_task(task);
    return {make_task(training_task_at(0)), measured, measured};
  }
  FileTaskConfig files;
  config::from_json(task, files, "task");
  if (!training_task.empty())
    throw UsageError("training_task is {}, but files have no keys that it could change",
                     training_task.dump());
  const Json given = config::to_json(data), defaults = config::to_json(SampleSets());
  for (const auto& [key, value] : given.items())
    if (value != defaults[key])
      throw UsageError("data.{} is {}, but files have their own samples; leave it out", key,
                       value.dump());
  const auto training = std::make_shared<FileTask>(files.file);
  const auto of_file = [&](const std::string& path) {
    return std::make_shared<FileTask>(path, training->shape());
  };
  return {training, of_file(files.validation), of_file(files.test)};
}

Json TaskTrainingConfig::complete_task() const {
  if (!is_named()) return task;
  Json settings = task;
  const std::string name = taken_name(settings);
  Json complete = {{"name", name}};
  complete.update(task_kind(name).complete(settings));
  return complete;
}

std::pair<std::string, Json> TaskTrainingConfig::model_for(const TaskShape& shape) const {
  auto [name, fields] = kind_and_fields(model);
  const ModelKind& kind = model_kind(name);
  if (name == "embedded") {  // as model_for() made it
    set_size(fields, "vocabulary", shape.vocabulary);
    set_size(fields["model"], "outputs", shape.output_width);
    return {name, fields};
  }
  if (kind.language_model && shape.answers_are_tokens()) {
    set_size(fields, "vocabulary", shape.vocabulary);
    return {name, fields};
  }
  if (!kind.reads_vectors)
    throw UsageError(
        "model.kind is '{}', which does not read vectors and can be trained only on a task whose "
        "answers are tokens",
        name);
  set_size(fields, "outputs", shape.output_width);
  if (shape.vocabulary > 0) {
    fields["kind"] = name;
    return {"embedded", Json{{"vocabulary", shape.vocabulary}, {"model", fields}}};
  }
  set_size(fields, "inputs", shape.input_width);
  return {name, fields};
}

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
  auto began = TaskTrainingConfig::from_json(written, where, written.value("model", Json()));
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
  for (const Level& level : sets_.test->levels())
    scores.push_back(
        {level.strategy, level.metric == "accuracy" ? kPercent * level.value : level.value});
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
