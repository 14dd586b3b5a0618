#include "lab/task/sequence/training.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "lab/task/sequence/sample_order.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/random.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/model_kind.h"
#include "tessera/text/best_model.h"
#include "tessera/train/metrics_log.h"
#include "tessera/train/trainer.h"
#include "tessera/train/training_display.h"

namespace tessera::task {
namespace {

using config::Json;

std::shared_ptr<SequenceModel> make_model(Json fields, uint64_t seed) {
  const std::string kind = fields.at("kind");
  fields.erase("kind");
  return model_kind(kind).make(fields, seed, at::kCPU);
}

/// The outputs of the steps from the first answer on: [T - first_answer, B, out].
at::Tensor answers_of(SequenceModel& model, const TaskBatch& batch,
                      std::optional<uint64_t> dropout_seed = {}) {
  const at::Tensor inputs = batch.inputs.transpose(0, 1).contiguous();  // [B, T, in] or [B, T]
  return model.forward(inputs, dropout_seed, batch.first_answer).transpose(0, 1);
}

/// The first `count` samples of a split, in batches.
std::vector<TaskBatch> batches_of(const SequenceTask& task, uint64_t seed, int64_t count,
                                  int64_t rows) {
  std::vector<TaskBatch> batches;
  for (int64_t first = 0; first < count; first += rows) {
    std::vector<int64_t> samples(static_cast<size_t>(std::min(rows, count - first)));
    std::iota(samples.begin(), samples.end(), first);
    batches.push_back(make_batch(task, seed, samples));
  }
  return batches;
}

/// A score, and the mean loss over all symbols.
struct Measured {
  TaskScore score;
  double loss = 0;
};

/// Throws Interrupted between two batches after a signal.
Measured measure(SequenceModel& model, const std::vector<TaskBatch>& batches,
                 const std::function<void(int64_t batches)>& on_batch) {
  at::NoGradGuard no_grad;
  Measured sum;
  int64_t done = 0;
  for (const TaskBatch& batch : batches) {
    InterruptGuard::stop_if_interrupted("stopped while measuring the answers");
    const at::Tensor answers = answers_of(model, batch);
    const TaskScore score = score_answers(answers, batch);
    sum.loss += answer_loss(answers, batch).item().toDouble() * static_cast<double>(score.symbols);
    sum.score += score;
    on_batch(++done);
  }
  sum.loss /= static_cast<double>(sum.score.symbols);
  return sum;
}

Metrics metrics_of(const Measured& measured, TargetKind kind) {
  Metrics metrics = {{"loss", measured.loss},
                     {"wrong_per_sequence", measured.score.wrong_per_sequence()},
                     {"accuracy", measured.score.accuracy()},
                     {"perfect_share", measured.score.perfect_share()}};
  if (kind == TargetKind::kVectors)
    metrics["mean_absolute_error"] = measured.score.mean_absolute_error();
  return metrics;
}

std::string evaluation_text(const Metrics& metrics, TargetKind kind) {
  const double loss = metrics.at("loss");
  switch (kind) {
    case TargetKind::kBits:
      return fmt::format("validation loss {:.4f} nats/bit, {:.2f} wrong bits per sequence", loss,
                         metrics.at("wrong_per_sequence"));
    case TargetKind::kClasses:
      return fmt::format("validation loss {:.4f} nats/answer, {:.2f} % right", loss,
                         100 * metrics.at("accuracy"));
    case TargetKind::kVectors:
      return fmt::format("validation loss {:.4f}, mean absolute error {:.4f}", loss,
                         metrics.at("mean_absolute_error"));
  }
  return "";
}

/// Which samples make up draw `draw` of the training.
std::function<std::vector<int64_t>(int64_t draw)> sample_order(const TaskTrainingConfig& config) {
  const int64_t rows = config.train.batch;
  if (config.data.training_samples == 0)
    return [rows](int64_t draw) { return fresh_samples(draw, rows); };
  return [order = EpochOrder(config.train.seed, config.data.training_samples, rows)](
             int64_t draw) mutable { return order.samples(draw); };
}

/// Refers to all arguments but `resolved`.
TrainingTask training_task(const TaskTrainingConfig& config, const SequenceTask& task,
                           SequenceModel& model, const Json& resolved, TrainingDisplay& display) {
  const TrainConfig& train = config.train;
  TrainingTask training{.module = model, .loss = {}, .evaluate = {}, .sample = {}, .digest = {}};
  training.loss = [&, practised = std::shared_ptr(config.make_training_task()),
                   seed = split_seed(train.seed, Split::kTraining),
                   samples = sample_order(config)](int64_t step, int64_t micro_batch) {
    const int64_t draw = step * train.accumulation + micro_batch;
    const TaskBatch batch = make_batch(*practised, seed, samples(draw));
    const uint64_t dropout_seed = RandomStream(train.seed, static_cast<uint64_t>(draw))();
    return answer_loss(answers_of(model, batch, dropout_seed), batch);
  };
  training.evaluate = [&, batches = batches_of(task, split_seed(train.seed, Split::kValidation),
                                               train.evaluate_batches * train.batch, train.batch)] {
    const auto measured = measure(model, batches, [&](int64_t done) {
      display.on_batch_evaluated(done, std::ssize(batches));
    });
    return metrics_of(measured, task.shape().targets);
  };
  training.tokens_per_step = train.batch * train.accumulation;
  for (const char* table : {"task", "training_task", "model", "data"})
    training.digest += resolved.at(table).dump() + " ";
  return training;
}

/// The configuration with every default of task and model filled in.
Json resolved_config(const TaskTrainingConfig& config, const SequenceModel& model) {
  Json resolved = config.to_json();
  resolved["task"] = config.complete_task();
  resolved["model"] = model_table(model);
  return resolved;
}

TaskScore test_score(const TaskTrainingConfig& config, const SequenceTask& task,
                     SequenceModel& model, std::FILE* progress) {
  const auto batches = batches_of(task, split_seed(config.train.seed, Split::kTest),
                                  config.data.test_samples, config.train.batch);
  Progress bar(progress, "Test", std::ssize(batches));
  return measure(model, batches, [&](int64_t done) { bar.update(done); }).score;
}

}  // namespace

TrainedOnTask train_on_task(const TaskTrainingConfig& config, const RunFolder& run,
                            std::FILE* progress, const std::string& label) {
  const InterruptGuard guard;
  const auto task = config.make_task();
  const auto model = make_model(config.model_for(task->shape()), config.train.seed);
  const Json resolved = resolved_config(config, *model);
  const TargetKind kind = task->shape().targets;
  TrainingDisplay display(progress, label,
                          {.unit = "sequences", .evaluation = [kind](const Metrics& metrics) {
                             return evaluation_text(metrics, kind);
                           }});
  Trainer trainer(config.train, training_task(config, *task, *model, resolved, display), run.path(),
                  &display);
  run.write_configuration(resolved, [](const Json& written, const std::string& where) {
    auto began = TaskTrainingConfig::from_json(written, where);
    began.task = began.complete_task();
    return began.to_json();
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
          .test = test_score(config, *task, *model, progress)};
}

}  // namespace tessera::task
