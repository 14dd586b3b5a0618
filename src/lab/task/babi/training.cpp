#include "lab/task/babi/training.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "lab/task/babi/babi_batch.h"
#include "lab/task/sequence/check_range.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/text/best_model.h"
#include "tessera/train/metrics_log.h"
#include "tessera/train/trainer.h"
#include "tessera/train/training_display.h"

namespace tessera::task {
namespace {

using config::Json;

constexpr int64_t kEvaluationRows = 64;

QuestionAnswererConfig sizes_for(QuestionAnswererConfig model, const BabiData& data) {
  model.vocabulary = data.vocabulary().size();
  model.words = data.longest_sentence();
  return model;
}

at::Tensor logits_of(QuestionAnswerer& model, const BabiBatch& batch) {
  return model.answer(batch.sentences, batch.questions, batch.after);
}

BabiScore score(QuestionAnswerer& model, const std::vector<BabiBatch>& batches) {
  at::NoGradGuard no_grad;
  BabiScore sum;
  for (const BabiBatch& batch : batches) {
    InterruptGuard::stop_if_interrupted("stopped while measuring the answers");
    const at::Tensor logits = logits_of(model, batch);
    sum.questions += batch.count();
    sum.wrong += wrong_babi_answers(logits, batch);
    sum.nats += babi_loss(logits, batch).item().toDouble();
  }
  return sum;
}

/// Means over the tasks, and the error of each.
Metrics metrics_of(const std::map<int64_t, BabiScore>& scores) {
  Metrics metrics = {{"loss", 0}, {"error", 0}};
  for (const auto& [task, score] : scores) {
    metrics["loss"] +=
        score.nats / static_cast<double>(score.questions) / static_cast<double>(scores.size());
    metrics["error"] += score.error() / static_cast<double>(scores.size());
    metrics[fmt::format("error_of_task_{}", task)] = score.error();
  }
  return metrics;
}

/// Refers to all arguments but `resolved`.
TrainingTask training_task(const BabiTrainingConfig& config, const BabiData& data,
                           QuestionAnswerer& model, const Json& resolved,
                           TrainingDisplay& display) {
  const TrainConfig& train = config.train;
  TrainingTask training{.module = model, .loss = {}, .evaluate = {}, .sample = {}, .digest = {}};
  training.loss = [&](int64_t step, int64_t micro_batch) {
    const BabiDraw draw =
        draw_babi(data, train.seed, step, train.batch * train.accumulation, train.accumulation);
    const BabiBatch batch = make_babi_batch(data, draw.task, Split::kTraining,
                                            draw.parts[static_cast<size_t>(micro_batch)]);
    // The mean over the parts is then the mean over all questions.
    return babi_loss(logits_of(model, batch), batch) *
           (static_cast<double>(train.accumulation) / static_cast<double>(draw.questions));
  };
  training.evaluate = [&] {
    std::map<int64_t, BabiScore> scores;
    for (int64_t task : data.config().tasks) {
      scores[task] = score_babi(model, data, task, Split::kValidation, config.validation_stories);
      display.on_batch_evaluated(std::ssize(scores), std::ssize(data.config().tasks));
    }
    return metrics_of(scores);
  };
  training.tokens_per_step = train.batch * train.accumulation;
  training.digest = fmt::format("{} {}", resolved.at("data").dump(), resolved.at("model").dump());
  for (int64_t task : data.config().tasks)
    training.digest += fmt::format(" {}", data.questions(task, Split::kTraining).size());
  return training;
}

std::string evaluation_text(const Metrics& metrics) {
  return fmt::format("validation loss {:.4f} nats/question, {:.2f} % wrong", metrics.at("loss"),
                     100 * metrics.at("error"));
}

void save_trained(const std::filesystem::path& run, const BabiData& data, QuestionAnswerer& model) {
  save_best_model(model, run);
  Json words = Json::array();
  for (int64_t id = 0; id < data.vocabulary().size(); ++id)
    words.push_back(data.vocabulary().word(id));
  write_file(run / "model" / "words.json", words.dump() + "\n");
}

}  // namespace

TrainConfig default_babi_training() {
  constexpr int64_t kEpoch = 1400;
  // Differs from the paper's code: its first epoch has a tenth of the learning rate, here the rate
  // rises through that epoch; the weights of the lowest validation loss are kept, not of the
  // highest accuracy.
  return {.steps = 500 * kEpoch,
          .batch = 32,
          .accumulation = 4,
          .learning_rate = 6e-4,
          .min_learning_rate = 6e-4,
          .warmup_steps = kEpoch,
          .halve_loss = 0.1,
          .weight_decay = 0,
          .beta1 = 0.9,
          .beta2 = 0.99,
          .clip = 5,
          .evaluate_every = kEpoch,
          .checkpoint_every = 200,
          .seed = 1};
}

BabiScore score_babi(QuestionAnswerer& model, const BabiData& data, int64_t task, Split split,
                     int64_t limit) {
  return score(model, babi_batches(data, task, split, kEvaluationRows, limit));
}

TrainedOnBabi train_on_babi(const BabiTrainingConfig& config, const BabiData& data,
                            const RunFolder& run, std::FILE* progress) {
  check_range(config.validation_stories, 1, int64_t{1} << 40, "validation_stories");
  const InterruptGuard guard;
  BabiTrainingConfig complete = config;
  complete.model = sizes_for(config.model, data);
  const auto model = std::make_shared<QuestionAnswerer>(complete.model, config.train.seed);
  const Json resolved = config::to_json(complete);
  TrainingDisplay display(progress, "bAbI", {.unit = "questions", .evaluation = evaluation_text});
  Trainer trainer(config.train, training_task(config, data, *model, resolved, display), run.path(),
                  &display);
  run.write_configuration(resolved, [](const Json& written, const std::string& where) {
    BabiTrainingConfig began;
    config::from_json(written, began, where);
    return Json(config::to_json(began));
  });
  const TrainingResult result = trainer.run(run.start());
  display.finish();
  if (result.evaluation_is_missing)
    throw Interrupted(
        fmt::format("stopped after the last step; the run is in {}", run.path().native()));

  save_trained(run.path(), data, *model);
  TrainedOnBabi trained{.model = model,
                        .steps = result.step,
                        .seconds = MetricsLog::seconds(run.path() / "metrics.jsonl"),
                        .test = {}};
  Progress bar(progress, "Test", std::ssize(data.config().tasks));
  for (int64_t task : data.config().tasks) {
    trained.test[task] = score_babi(*model, data, task, Split::kTest);
    bar.update(std::ssize(trained.test));
  }
  return trained;
}

}  // namespace tessera::task
