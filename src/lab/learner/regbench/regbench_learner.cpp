#include "lab/learner/regbench/regbench_learner.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "lab/learner/task_tables.h"
#include "tessera/base/config.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/initialisation.h"
#include "tessera/model/model_kind.h"

namespace tessera::task {
namespace {

using config::Json;

/// The kind and the hyper-parameters of the model, sizes of the task included.
std::pair<std::string, Json> complete_model(const RegBenchTrainingConfig& config) {
  const RegBench task(config.task);
  auto [kind, fields] = kind_and_fields(config.model);
  set_size(fields, "vocabulary", task.vocabulary());
  set_size(fields, "window", task.longest());
  return {kind, fields};
}

/// The first `count` sequences of a set, `rows` side by side.
std::vector<RegBenchBatch> batches_of(const RegBench& task, const RegBenchSet& set, int64_t count,
                                      int64_t rows) {
  std::vector<RegBenchBatch> batches;
  for (const auto& automata : batches_in_order(count, rows))
    batches.push_back(make_regbench_batch(task, set, automata));
  return batches;
}

std::shared_ptr<LanguageModel> make_model(const RegBenchTrainingConfig& config) {
  const auto [kind, fields] = complete_model(config);
  return make_language_model(kind, fields, config.train.seed);
}

}  // namespace

RegBenchTrainingConfig RegBenchTrainingConfig::from_json(const Json& json,
                                                         const std::string& where) {
  RegBenchTrainingConfig config;
  config::read_tables(without_task_name(json),
                      {{"task", config::fields_of(config.task)},
                       {"data", config::fields_of(config.data)},
                       {"model", &config.model},
                       {"train", config::fields_of(config.train)}},
                      where);
  config::saying_where(where, [&] { config.check(); });
  return config;
}

Json RegBenchTrainingConfig::to_json() const {
  return {{"task", config::to_json(task)},
          {"data", config::to_json(data)},
          {"model", model},
          {"train", config::to_json(train)}};
}

void RegBenchTrainingConfig::check() const {
  RegBench{task};
  config::check_demands(data, "data");
  check_task_training(train);
  check_argument(data.languages >= train.batch,
                 "data.languages is {}, expected at least train.batch, {}", data.languages,
                 train.batch);
  if (data.measured_on == MeasuredOn::kTrainedLanguages)
    check_range(data.held_out, 1, data.languages, "data.held_out");
  const auto [kind, fields] = complete_model(*this);
  check_language_model(kind, fields);
}

RegBenchSet RegBenchTrainingConfig::set(Split split) const {
  const uint64_t sequences = split_seed(train.seed, split);
  if (data.measured_on == MeasuredOn::kNewLanguages) return {sequences, sequences};
  return {split_seed(train.seed, Split::kTraining), sequences};
}

RegBenchLearner::RegBenchLearner(const RegBenchTrainingConfig& config)
    : Learner(config.train),
      config_(config::checked(config)),
      task_(config.task),
      model_(make_model(config)),
      order_(config.train.seed, config.data.languages, config.train.batch),
      validation_(batches_of(
          task_, config.set(Split::kValidation),
          std::min(config.data.held_out, config.train.evaluate_batches * config.train.batch),
          config.train.batch)) {
  config_.model = model_table(*model_);
}

at::Tensor RegBenchLearner::loss(int64_t step, int64_t micro_batch) {
  const int64_t draw = step * training().accumulation + micro_batch;
  const RegBenchBatch batch =
      make_regbench_batch(task_, config_.set(Split::kTraining), order_.samples(draw));
  return model_->loss(batch.inputs, batch.targets, derived_seed(training().seed, draw));
}

Metrics RegBenchLearner::measure(const std::vector<RegBenchBatch>& batches,
                                 const OnBatch& on_batch) {
  RegBenchScore score;
  double nats = 0;
  for (const RegBenchBatch& batch : batches) {
    InterruptGuard::stop_if_interrupted("the score on test sequences");
    const at::Tensor logits = model_->logits(model_->hidden(batch.inputs));
    const at::Tensor losses =
        at::cross_entropy_loss(logits.flatten(0, 1), batch.targets.flatten().to(logits.device()),
                               {}, at::Reduction::Sum, -1);
    nats += losses.item<double>();
    score += score_regbench(logits, batch);
    on_batch(&batch - batches.data() + 1, std::ssize(batches));
  }
  return {{"loss", nats / static_cast<double>(score.answers)},
          {"accuracy", score.accuracy()},
          {"distance", score.distance()}};
}

Metrics RegBenchLearner::evaluate(const OnBatch& on_batch) {
  return measure(validation_, on_batch);
}

Metrics RegBenchLearner::test(std::FILE* progress) {
  const auto batches =
      batches_of(task_, config_.set(Split::kTest), config_.data.held_out, training().batch);
  Progress bar(progress, "Test", std::ssize(batches));
  return measure(batches, [&](int64_t done, int64_t) { bar.update(done); });
}

void RegBenchLearner::save(const std::filesystem::path& folder) {
  save_model(folder, *model_);
}

Json RegBenchLearner::configuration() const {
  return with_task_name(kTask, config_.to_json());
}

Json RegBenchLearner::completed(const Json& written, const std::string& where) const {
  return RegBenchTrainingConfig::from_json(written, where).to_json();
}

std::string RegBenchLearner::digest() const {
  return digest_of(config_.to_json(), {"task", "data", "model"});
}

std::vector<ShownMetric> RegBenchLearner::shown() const {
  return {{"accuracy", "legal next symbols (%)", 100, 1},
          {"distance", "TVD", 1, 3},
          {"loss", "loss (nats/symbol)", 1, 4}};
}

}  // namespace tessera::task
