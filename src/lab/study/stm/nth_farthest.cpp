// Table 2: which vector is the k-th farthest from another, with more and more queries.

#include "lab/task/nth_farthest/nth_farthest.h"

#include <algorithm>

#include "lab/study/stm/sequence_comparison.h"
#include "lab/study/stm/studies.h"

namespace tessera::stm_study {
namespace {

using FarthestSettings = ComparisonSettings<task::NthFarthestConfig>;

/// The paper's. By default and quick: three vectors in the plane. With batches of 64 the
/// two-memory model stays on the plateau of guessing between the other two, with 256 it leaves it
/// after some 300 updates; an LSTM and a DNC leave it with 32.
FarthestSettings farthest_settings(StudySize size) {
  FarthestSettings settings;
  settings.models = {"STM, n_q = 1", "STM, n_q = 4", "STM, n_q = 8", "RMC", "DNC", "LSTM"};
  settings.train.steps = 1'000'000;
  settings.train.batch = 1600;
  settings.train.optimizer = OptimizerKind::kAdamW;
  settings.train.weight_decay = 0;
  settings.train.beta2 = 0.999;
  settings.of_paper = settings.train;
  if (size == StudySize::kPaper) return settings;
  settings.task = {.vectors = 3, .dimension = 2};
  settings.models = {"STM, n_q = 1", "STM, n_q = 8", "LSTM"};
  settings.stm = short_training_stm(8, 32);
  settings.baselines = short_training_baselines();
  settings.train = falling_training(6'000, 1e-3, 100, 256);
  settings.baselines.batch = 32;
  settings.baselines.learning_rate = 5e-3;
  if (size == StudySize::kDefault) return settings;
  settings.models = {"STM, n_q = 8", "LSTM"};
  settings.train.steps = 750;
  return settings;
}

std::vector<Contestant> farthest_contestants(const FarthestSettings& settings) {
  std::vector<Contestant> ours;
  for (const int64_t slots : {1, 4, 8}) {
    StmConfig config = settings.stm;
    config.slots = slots;
    ours.push_back({fmt::format("STM, n_q = {}", slots), model_table<Stm>(config)});
  }
  return beside_baselines(
      settings.baselines, ours,
      {{"DNC", 25}, {"RMC", 91}, {"STM, n_q = 1", 84}, {"STM, n_q = 4", 95}, {"STM, n_q = 8", 98}});
}

}  // namespace

void nth_farthest(StudyContext& context) {
  const FarthestSettings settings = context.settings(farthest_settings, {"task"});
  compare_at_these_sizes(context, "nth-farthest", settings, farthest_contestants(settings),
                         fmt::format("{} vectors of {} numbers; the paper has 8 of 16.",
                                     settings.task.vectors, settings.task.dimension));
  if (std::ranges::count(settings.models, "RMC") + std::ranges::count(settings.models, "DNC") > 0)
    context.results().add_difference(
        "The paper reports RMC and DNC from Santoro et al. 2018, who have sizes of their own.");
}

}  // namespace tessera::stm_study
