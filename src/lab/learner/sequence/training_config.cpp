#include "lab/learner/sequence/training_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "lab/learner/sequence/file_task.h"
#include "lab/learner/task_tables.h"
#include "lab/task/sequence/task_kinds.h"
#include "tessera/base/error.h"
#include "tessera/checkpoint/source_model.h"
#include "tessera/model/model_kind.h"

namespace tessera::task {
namespace {

using config::Json;

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

TaskTrainingConfig TaskTrainingConfig::from_json(const Json& json, const std::string& where) {
  TaskTrainingConfig config;
  config::read_tables(json,
                      {{"task", &config.task},
                       {"training_task", &config.training_task},
                       {"model", &config.model},
                       {"data", config::fields_of(config.data)},
                       {"train", config::fields_of(config.train)}},
                      where);
  config::saying_where(where, [&] {
    config.from = take_source_model(config.model);
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

}  // namespace tessera::task
