#include "lab/task/regbench/training.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lab/task/sequence/check_range.h"
#include "lab/task/sequence/sample_order.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/random.h"
#include "tessera/base/suggestion.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/model_kind.h"
#include "tessera/text/best_model.h"
#include "tessera/train/metrics_log.h"
#include "tessera/train/trainer.h"
#include "tessera/train/training_display.h"

namespace tessera::task {
namespace {

using config::Json;

/// The kind and the hyper-parameters of the model, sizes of the task included.
std::pair<std::string, Json> complete_model(const RegBenchTrainingConfig& config) {
  const RegBench task(config.task);
  Json fields = config.model;
  if (!fields.is_object() || !fields.contains("kind") || !fields["kind"].is_string())
    throw UsageError("model is {}, expected a table with 'kind', a name", fields.dump());
  const std::string kind = fields["kind"];
  fields.erase("kind");
  for (const auto& [key, size] :
       {std::pair("vocabulary", task.vocabulary()), std::pair("window", task.longest())}) {
    if (fields.contains(key) && fields[key] != size)
      throw UsageError("model.{} is {}, but the task has {}; leave it out", key, fields[key].dump(),
                       size);
    fields[key] = size;
  }
  return {kind, fields};
}

/// The first `count` sequences of a set, `rows` side by side.
std::vector<RegBenchBatch> batches_of(const RegBench& task, const RegBenchSet& set, int64_t count,
                                      int64_t rows) {
  std::vector<RegBenchBatch> batches;
  for (int64_t first = 0; first < count; first += rows) {
    std::vector<int64_t> automata(static_cast<size_t>(std::min(rows, count - first)));
    std::iota(automata.begin(), automata.end(), first);
    batches.push_back(make_regbench_batch(task, set, automata));
  }
  return batches;
}

/// The score, and the mean loss over all answers.
Metrics measure(LanguageModel& model, const std::vector<RegBenchBatch>& batches,
                TrainingDisplay& display) {
  at::NoGradGuard no_grad;
  RegBenchScore score;
  double nats = 0;
  int64_t done = 0;
  for (const RegBenchBatch& batch : batches) {
    InterruptGuard::stop_if_interrupted("stopped while measuring the next symbols");
    const at::Tensor logits = model.logits(model.hidden(batch.inputs));
    const at::Tensor losses =
        at::cross_entropy_loss(logits.flatten(0, 1), batch.targets.flatten().to(logits.device()),
                               {}, at::Reduction::Sum, -1);
    nats += losses.item<double>();
    score += score_regbench(logits, batch);
    display.on_batch_evaluated(++done, std::ssize(batches));
  }
  return {{"loss", nats / static_cast<double>(score.answers)},
          {"accuracy", score.accuracy()},
          {"distance", score.distance()}};
}

std::string evaluation_text(const Metrics& metrics) {
  return fmt::format("validation loss {:.4f} nats/symbol, {:.1f} % legal, TVD {:.3f}",
                     metrics.at("loss"), 100 * metrics.at("accuracy"), metrics.at("distance"));
}

/// Refers to all arguments but `resolved`.
TrainingTask training_task(const RegBenchTrainingConfig& config, const RegBench& task,
                           LanguageModel& model, const Json& resolved, TrainingDisplay& display) {
  const TrainConfig& train = config.train;
  TrainingTask training{.module = model, .loss = {}, .evaluate = {}, .sample = {}, .digest = {}};
  training.loss = [&, set = config.set(Split::kTraining),
                   order = EpochOrder(train.seed, config.data.languages, train.batch)](
                      int64_t step, int64_t micro_batch) mutable {
    const int64_t draw = step * train.accumulation + micro_batch;
    const RegBenchBatch batch = make_regbench_batch(task, set, order.samples(draw));
    const uint64_t dropout_seed = RandomStream(train.seed, static_cast<uint64_t>(draw))();
    return model.loss(batch.inputs, batch.targets, dropout_seed);
  };
  const int64_t measured = std::min(config.data.held_out, train.evaluate_batches * train.batch);
  training.evaluate =
      [&, batches = batches_of(task, config.set(Split::kValidation), measured, train.batch)] {
        return measure(model, batches, display);
      };
  training.tokens_per_step = train.batch * train.accumulation;
  for (const char* table : {"task", "data", "model"})
    training.digest += resolved.at(table).dump() + " ";
  return training;
}

/// The configuration with every default of the model filled in.
Json resolved_config(const RegBenchTrainingConfig& config, const LanguageModel& model) {
  Json resolved = config.to_json();
  resolved["model"] = model_table(model);
  return resolved;
}

}  // namespace

RegBenchTrainingConfig RegBenchTrainingConfig::from_json(const Json& json,
                                                         const std::string& where) {
  RegBenchTrainingConfig config;
  for (const auto& [key, table] : json.items()) {
    const std::string path = where.empty() ? key : where + ": " + key;
    if (key == "task")
      config::from_json(table, config.task, path);
    else if (key == "data")
      config::from_json(table, config.data, path);
    else if (key == "model")
      config.model = table;
    else if (key == "train")
      config::from_json(table, config.train, path);
    else
      throw UsageError("{}: unknown table '{}'{}", where.empty() ? "configuration" : where, key,
                       suggestion(key, {"task", "data", "model", "train"}));
  }
  config.check();
  return config;
}

Json RegBenchTrainingConfig::to_json() const {
  return {{"task", config::to_json(task)},
          {"data", config::to_json(data)},
          {"model", model},
          {"train", config::to_json(train)}};
}

void RegBenchTrainingConfig::check() const {
  constexpr int64_t kMost = int64_t{1} << 32;
  RegBench{task};
  check_range(data.languages, train.batch, kMost, "data.languages");
  train.check();
  check_range(train.sample_every, 0, 0, "train.sample_every");
  const bool trained = data.measured_on == MeasuredOn::kTrainedLanguages;
  check_range(data.held_out, 1, trained ? data.languages : kMost, "data.held_out");
  const auto [kind, fields] = complete_model(*this);
  check_language_model(kind, fields);
}

RegBenchSet RegBenchTrainingConfig::set(Split split) const {
  const uint64_t sequences = split_seed(train.seed, split);
  if (data.measured_on == MeasuredOn::kNewLanguages) return {sequences, sequences};
  return {split_seed(train.seed, Split::kTraining), sequences};
}

RegBenchScore score_on_regbench(LanguageModel& model, const RegBench& task, const RegBenchSet& set,
                                int64_t count, int64_t rows) {
  at::NoGradGuard no_grad;
  RegBenchScore score;
  for (const RegBenchBatch& batch : batches_of(task, set, count, rows)) {
    InterruptGuard::stop_if_interrupted("stopped while measuring the next symbols");
    score += score_regbench(model.logits(model.hidden(batch.inputs)), batch);
  }
  return score;
}

TrainedOnRegBench train_on_regbench(const RegBenchTrainingConfig& config, const RunFolder& run,
                                    std::FILE* progress, const std::string& label) {
  config.check();
  const InterruptGuard guard;
  const RegBench task(config.task);
  const auto [kind, fields] = complete_model(config);
  const auto model = make_language_model(kind, fields, config.train.seed);
  const Json resolved = resolved_config(config, *model);
  TrainingDisplay display(progress, label, {.unit = "sequences", .evaluation = evaluation_text});
  Trainer trainer(config.train, training_task(config, task, *model, resolved, display), run.path(),
                  &display);
  run.write_configuration(resolved, [](const Json& written, const std::string& where) {
    return RegBenchTrainingConfig::from_json(written, where).to_json();
  });
  const TrainingResult result = trainer.run(run.start());
  display.finish();
  if (result.evaluation_is_missing)
    throw Interrupted(
        fmt::format("stopped after the last step; the run is in {}", run.path().native()));

  save_best_model(*model, run.path());
  return {.model = model,
          .folder = run.path(),
          .steps = result.step,
          .seconds = MetricsLog::seconds(run.path() / "metrics.jsonl"),
          .validation_loss = result.best_validation_loss.value_or(NAN),
          .test = score_on_regbench(*model, task, config.set(Split::kTest), config.data.held_out,
                                    config.train.batch)};
}

}  // namespace tessera::task
