#pragma once

#include <fmt/format.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/baseline/attentional_lstm.h"
#include "lab/baseline/dnc.h"
#include "lab/baseline/fast_weights.h"
#include "lab/baseline/ntm.h"
#include "lab/baseline/rmc.h"
#include "lab/baseline/vector_lstm.h"
#include "lab/learner/sequence/task_learner.h"
#include "lab/study/comparison.h"
#include "tessera/model/stm.h"

/// What the studies that train several models on one sequence task share.
namespace tessera::stm_study {

/// What the two-memory model is compared with.
struct Baselines {
  VectorLstmConfig lstm;
  AttentionalLstmConfig attentional_lstm;
  FastWeightsConfig fast_weights;
  RmcConfig rmc;
  NtmConfig ntm;
  DncConfig dnc;
  int64_t batch = 0;
  double learning_rate = 0;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("lstm", lstm, "LSTM");
    field("attentional_lstm", attentional_lstm, "LSTM that attends over its earlier states");
    field("fast_weights", fast_weights, "recurrent network with fast weights");
    field("rmc", rmc, "relational memory core");
    field("ntm", ntm, "Neural Turing Machine");
    field("dnc", dnc, "Differentiable Neural Computer");
    field("batch", batch,
          "sequences in one update of theirs; they make more updates or fewer, to learn from as "
          "many sequences (0: as train has it)",
          config::between(0, 65536));
    field("learning_rate", learning_rate,
          "their learning rate at the end of the warm-up; it falls as that of train (0: the same)",
          config::at_least(0));
  }
};

/// The settings of such a study.
template <config::Configuration Task>
struct ComparisonSettings {
  Task task;
  std::vector<std::string> models;
  int64_t runs = 1;
  StmConfig stm;
  Baselines baselines;
  Task first_task;
  task::SampleSets data;
  TrainConfig train = task::default_task_training();
  TrainConfig of_paper = train;  ///< what the paper has for `train`; not a setting

  static inline const SettingNames kSetByStudy = {"train.seed", "inputs", "outputs"};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("task", task, "sizes of the task");
    field("models", models, "which models are trained, by their names in the table of results");
    field("runs", runs, "trainings of each model, with seeds of their own", config::at_least(1));
    field("stm", stm, "the two-memory model; widths of inputs and outputs are the task's");
    field("baselines", baselines, "what it is compared with, likewise");
    field("first_task", first_task,
          "sizes that training begins with, where data.growing_steps lets them grow");
    field("data", data, "how many samples there are");
    field("train", train,
          "how every model is trained, but for the batch and the rate of the baselines");
  }
};

/// A training of ours for small machines. Adam at a constant rate of 1e-3, gradients clipped to a
/// norm of 1. On associative retrieval it needs a quarter of the updates of the published one
/// (RMSprop at 1e-4, see default_task_training), with batches of half the size.
TrainConfig short_training(int64_t steps, int64_t batch);

/// The same with a rate that rises for `warmup` updates and falls to a hundredth.
TrainConfig falling_training(int64_t steps, double learning_rate, int64_t warmup,
                             int64_t batch = 128);

/// Makes a training have as many sequences in updates of `batch`: every number of updates changes,
/// also that of the warm-up and that in which the task grows.
void set_batch(int64_t batch, TrainConfig& train, task::SampleSets& data);

/// A two-memory model of ours to go with it. alpha: where the factors alpha 1, 2 and 3 begin.
/// Differs from the authors' code, where they begin at 0: there the relational memory passes
/// nothing on, and on most tasks training spends its first thousands of updates on a plateau.
StmConfig short_training_stm(int64_t slots, int64_t width,
                             const std::array<double, 3>& alpha = {0.9, 0.5, 0.5});

/// The table [model] of a configuration that has inputs and outputs of a task filled in later.
/// embedding: width in which tokens are embedded; 0 where the task has vectors.
template <typename Model>
config::Json model_table(const typename Model::Config& config, int64_t embedding = 0) {
  config::Json table = config::to_json(config);
  table.erase("inputs");
  table.erase("outputs");
  if (embedding > 0) table["inputs"] = embedding;
  table["kind"] = std::string(Model::kKind);
  return table;
}

/// Trains each contestant on what `common` says without a model and a seed. Throws UsageError
/// before any training where one of them cannot be trained.
std::vector<TrainedContestant<task::TaskLearner>> compare_on_task(
    StudyContext& context, const task::TaskTrainingConfig& common,
    const std::vector<Contestant>& contestants, int64_t runs);

/// Adds to the results what add_training_results() shows of the contestants, their scores in a
/// sentence, and the published scores beside ours. unlike: as Comparison has it.
void add_comparison(const std::vector<TrainedContestant<task::TaskLearner>>& compared,
                    const std::string& unlike, StudyResults& results);

/// Says in the results where training was not the paper's.
void add_training_differences(const TrainConfig& train, const TrainConfig& of_paper,
                              const StmConfig& stm, const Baselines& baselines,
                              StudyResults& results);

/// The baselines under their names in the paper, "LSTM", "ALSTM", "Fast weights", "RMC", "NTM" and
/// "DNC", and ours. published: what the paper has for them, by name. embedding: see model_table().
std::vector<Contestant> beside_baselines(const Baselines& baselines,
                                         const std::vector<Contestant>& ours,
                                         const std::map<std::string, double>& published = {},
                                         int64_t embedding = 0);

/// Baselines of about 70,000 parameters (an RMC of 40,000), to go with short_training_stm(4, 32).
Baselines short_training_baselines();
/// Baselines of about 360,000 parameters, to go with short_training_stm(4, 64).
Baselines wider_baselines();

/// The paper's settings with sizes of ours, small models and a short training. Relational tasks
/// need batches of some size: at a constant rate the two-memory model is no better on relational
/// recall than an LSTM with 32, and with 128 it answers nine of ten without a fault.
template <config::Configuration Task>
ComparisonSettings<Task> shortened(ComparisonSettings<Task> settings, const Task& task,
                                   int64_t steps, int64_t batch = 128) {
  settings.task = settings.first_task = task;
  settings.stm = short_training_stm(4, 32);
  settings.baselines = short_training_baselines();
  settings.data = {};
  settings.train = short_training(steps, batch);
  return settings;
}

/// The same in a minute or two: small batches, and two models alone.
template <config::Configuration Task>
ComparisonSettings<Task> shortest(ComparisonSettings<Task> settings, const Task& task,
                                  int64_t steps) {
  settings.models = {"STM", "LSTM"};
  return shortened(std::move(settings), task, steps, 32);
}

/// Trains those of the contestants that the settings name, each `runs` times. Adds the results and
/// compares with what was published. Throws UsageError on a name that is not among the
/// contestants'.
/// unlike: why a published score is not to be compared with ours, as Comparison has it.
/// training_task: keys of the task that have another value in training.
template <config::Configuration Task>
std::vector<TrainedContestant<task::TaskLearner>> compare_models(
    StudyContext& context, const std::string& task_name, const ComparisonSettings<Task>& settings,
    const std::vector<Contestant>& contestants, const std::string& unlike = "",
    const config::Json& training_task = config::Json::object()) {
  task::TaskTrainingConfig common;
  common.task = {{"name", task_name}};
  common.task.update(config::to_json(settings.task));
  common.training_task = training_task;
  common.data = settings.data;
  common.train = settings.train;
  if (settings.data.growing_steps > 0) {
    const config::Json first_task = config::to_json(settings.first_task);
    for (const auto& [key, first] : first_task.items())
      if (first.is_number() && first != common.task.at(key)) common.training_task[key] = first;
    check_argument(!common.training_task.empty(),
                   "data.growing_steps is {}, but first_task has the sizes of task: nothing grows",
                   settings.data.growing_steps);
    context.results().add_difference(
        fmt::format("Training begins with {} and comes to the sizes above within {} updates.",
                    common.training_task.dump(), settings.data.growing_steps));
  }
  auto models =
      compare_on_task(context, common, chosen_by_name(contestants, settings.models), settings.runs);
  add_comparison(models, unlike, context.results());
  add_training_differences(settings.train, settings.of_paper, settings.stm, settings.baselines,
                           context.results());
  return models;
}

/// The same. Where the task has other sizes than its defaults, which are the paper's, published
/// scores are not compared, and `sizes` says ours beside the paper's.
template <config::Configuration Task>
void compare_at_these_sizes(StudyContext& context, const std::string& task_name,
                            const ComparisonSettings<Task>& settings,
                            const std::vector<Contestant>& contestants, const std::string& sizes) {
  const bool as_published = config::to_json(settings.task) == config::to_json(Task{});
  compare_models(context, task_name, settings, contestants, as_published ? "" : "other sizes");
  if (!as_published) context.results().add_difference(sizes);
}

}  // namespace tessera::stm_study
