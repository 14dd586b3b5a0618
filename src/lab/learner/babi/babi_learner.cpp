#include "lab/learner/babi/babi_learner.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <set>

#include "lab/learner/task_tables.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/report/study_results.h"

namespace tessera::task {
namespace {

using config::Json;

constexpr int64_t kEvaluationRows = 64;

at::Tensor logits_of(QuestionAnswerer& model, const BabiBatch& batch) {
  return model.answer(batch.sentences, batch.questions, batch.after);
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

void BabiTrainingConfig::check() const {
  config::check_demands(*this, "");
  check_task_training(train);
  model.check();
}

BabiLearner::BabiLearner(const BabiTrainingConfig& config)
    : BabiLearner(config, BabiData(config::checked(config).data)) {}

BabiLearner::BabiLearner(const BabiTrainingConfig& config, BabiData data)
    : Learner(config.train), config_(config::checked(config)), data_(std::move(data)) {
  config_.model.vocabulary = data_.vocabulary().size();
  config_.model.words = data_.longest_sentence();
  model_ = std::make_shared<QuestionAnswerer>(config_.model, config.train.seed);
}

at::Tensor BabiLearner::loss(int64_t step, int64_t micro_batch) {
  const auto& [batch, accumulation] = std::pair(training().batch, training().accumulation);
  const BabiDraw draw = draw_babi(data_, training().seed, step, batch * accumulation, accumulation);
  const BabiBatch part =
      make_babi_batch(data_, draw.task, Split::kTraining, draw.parts[micro_batch]);
  // The mean over the parts is then the mean over all questions.
  return babi_loss(logits_of(*model_, part), part) *
         (static_cast<double>(accumulation) / static_cast<double>(draw.questions));
}

/// Means over the tasks, and the error of each.
Metrics BabiLearner::measure(Split split, int64_t stories, const OnBatch& on_batch) {
  const auto& tasks = data_.config().tasks;
  const double count = tasks.size();
  Metrics metrics = {{"loss", 0}, {"error", 0}};
  int64_t done = 0;
  for (const int64_t task : std::set(tasks.begin(), tasks.end())) {
    const BabiScore score = score_babi(*model_, data_, task, split, stories);
    metrics["loss"] += score.nats / static_cast<double>(score.questions) / count;
    metrics["error"] += score.error() / count;
    metrics[babi_error_metric(task)] = score.error();
    on_batch(++done, std::ssize(tasks));
    if (split != Split::kTest) continue;
    const double unseen = score.unseen;
    metrics[babi_seen_metric(task)] = 1 - unseen / static_cast<double>(score.questions);
    metrics[babi_unseen_error_metric(task)] =
        score.unseen == 0 ? 0 : static_cast<double>(score.wrong_unseen) / unseen;
  }
  return metrics;
}

Metrics BabiLearner::evaluate(const OnBatch& on_batch) {
  return measure(Split::kValidation, config_.validation_stories, on_batch);
}

Metrics BabiLearner::test(std::FILE* progress) {
  Progress bar(progress, "Test", std::ssize(data_.config().tasks));
  return measure(Split::kTest, /*stories=*/0, [&](int64_t done, int64_t) { bar.update(done); });
}

void BabiLearner::save(const std::filesystem::path& folder) {
  save_model(folder, *model_);
  Json words = Json::array();
  for (int64_t id = 0; id < data_.vocabulary().size(); ++id)
    words.push_back(data_.vocabulary().word(id));
  write_file(folder / "words.json", words.dump() + "\n");
}

Json BabiLearner::configuration() const {
  return with_task_name(kTask, config::to_json(config_));
}

Json BabiLearner::completed(const Json& written, const std::string& where) const {
  return config::to_json(config_without_name<BabiTrainingConfig>(written, where));
}

std::string BabiLearner::digest() const {
  std::string digest = fmt::format("{} {}", Json(config::to_json(config_.data)).dump(),
                                   Json(config::to_json(config_.model)).dump());
  for (const int64_t task : data_.config().tasks)
    digest += fmt::format(" {}", data_.questions(task, Split::kTraining).size());
  return digest;
}

std::vector<ShownMetric> BabiLearner::shown() const {
  return {{"error", "wrong answers (%)", 100}, {"loss", "loss (nats/question)", 1, 4}};
}

void BabiLearner::add_results(const Trained& trained, StudyResults& results) {
  Learner::add_results(trained, results);
  if (trained.test.empty()) return;
  Table table("Wrong answers of each task",
              {"task", "wrong answers (%)", "questions", "of them in training (%)",
               "wrong answers to the others (%)"});
  const auto percent = [&](const std::string& metric, int decimals) {
    return Cell::fixed(100 * trained.test.at(metric), decimals);
  };
  for (const int64_t task : data_.config().tasks)
    table.add_row({task, percent(babi_error_metric(task), 2),
                   data_.questions(task, Split::kTest).size(), percent(babi_seen_metric(task), 1),
                   babi_unseen_error(trained.test, task)});
  results.add_table("error-per-task", std::move(table));
}

std::string babi_error_metric(int64_t task) {
  return fmt::format("error_of_task_{}", task);
}
std::string babi_seen_metric(int64_t task) {
  return fmt::format("seen_of_task_{}", task);
}
std::string babi_unseen_error_metric(int64_t task) {
  return fmt::format("unseen_error_of_task_{}", task);
}

Cell babi_unseen_error(const Metrics& test, int64_t task) {
  const bool is_any_unseen = test.at(babi_seen_metric(task)) < 1;
  return is_any_unseen ? Cell::fixed(100 * test.at(babi_unseen_error_metric(task)), 2) : Cell();
}

BabiScore score_babi(QuestionAnswerer& model, const BabiData& data, int64_t task, Split split,
                     int64_t limit) {
  at::NoGradGuard no_grad;
  BabiScore sum;
  for (const BabiBatch& batch : babi_batches(data, task, split, kEvaluationRows, limit)) {
    InterruptGuard::stop_if_interrupted("the answers to the test questions");
    const at::Tensor logits = logits_of(model, batch);
    sum.questions += batch.count();
    const at::Tensor wrong = wrong_babi_answers(logits, batch);
    sum.wrong += wrong.sum().item().toLong();
    sum.unseen += batch.unseen.sum().item().toLong();
    sum.wrong_unseen += wrong.logical_and(batch.unseen).sum().item().toLong();
    sum.nats += babi_loss(logits, batch).item().toDouble();
  }
  return sum;
}

}  // namespace tessera::task
