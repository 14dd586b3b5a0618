#include "lab/study/memory_mosaics/three_moons_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "tessera/train/metrics_log.h"

namespace tessera::memory_mosaics_study {
namespace {

using namespace task;

/// Mean training loss of the last ten updates of a run.
double last_loss(const std::filesystem::path& folder) {
  const std::map<int64_t, double> losses = logged_losses(folder);
  const auto count = std::min<std::ptrdiff_t>(10, std::ssize(losses));
  double sum = 0;
  for (auto loss = std::prev(losses.end(), count); loss != losses.end(); ++loss)
    sum += loss->second;
  return sum / static_cast<double>(count);
}

}  // namespace

MoonRecipe published_recipe() {
  return {.train = {.steps = 500,
                    .batch = 64,
                    .learning_rate = 1e-2,
                    .min_learning_rate = 5e-6,
                    .warmup_steps = 0,
                    .decay = Decay::kLinear,
                    .weight_decay = 0,
                    .beta2 = 0.999,
                    .bias_correction = false,
                    .clip = 0,
                    .evaluate_every = 0,
                    .evaluate_batches = 1,
                    .checkpoint_every = 100}};
}

MoonRecipe small_batch_recipe() {
  MoonRecipe recipe = published_recipe();
  recipe.train.batch = 8;
  return recipe;
}

MoonRecipe our_recipe() {
  MoonRecipe recipe = small_batch_recipe();
  recipe.start = ComplexStart::kUnitary;
  return recipe;
}

ComplexMosaic& MoonNetwork::mosaic() const {
  return dynamic_cast<ComplexMosaic&>(training.learner->model());
}

std::vector<MoonNetwork> train_on_moons(StudyContext& context, const ThreeMoonsConfig& task,
                                        const MoonRecipe& recipe, const std::string& name,
                                        int64_t heads, int64_t runs) {
  TaskTrainingConfig config;
  config.task = {{"name", "three-moons"}};
  config.task.update(config::to_json(task));
  config.task["sets"] = config::enum_name(MoonSets::kHeldOut);
  config.training_task = {{"sets", config::enum_name(MoonSets::kTraining)}};
  config.data.test_samples = recipe.train.batch;
  config.train = recipe.train;
  const Contestant contestant{
      .name = fmt::format("{}, {} head{}", name, heads, heads == 1 ? "" : "s"),
      .model = {{"kind", std::string(ComplexMosaic::kKind)},
                {"heads", heads},
                {"start", config::enum_name(recipe.start)}}};
  const auto trained =
      compare(context, {contestant}, runs, [&](const Contestant& network, uint64_t seed) {
        config.model = network.model;
        config.train.seed = seed;
        return std::make_unique<TaskLearner>(config);
      });
  std::vector<MoonNetwork> networks;
  for (const auto& training : trained.front().trainings)
    networks.push_back({std::ssize(networks), training, last_loss(training.trained.folder)});
  for (MoonNetwork& network : networks) network.found = disentanglement(network.mosaic());
  return networks;
}

void add_outcomes(const std::vector<MoonOutcome>& outcomes, double dominance,
                  StudyResults& results) {
  Table rates(fmt::format("Three heads, a moon each: the largest modulus has {:g} % or more of "
                          "every row of W_φ, W_ψ and W_z, and the three agree on the moons",
                          100 * dominance),
              {"training", "batch", "start", "runs", "disentangled", "loss", "ms per update"});
  Table trainings(
      "Every training of three heads: the moons of the memories, in order of their periods, and "
      "the smallest share that the largest modulus has of a row",
      {"training", "run", "loss", "moons", "smallest share", "disentangled"});
  for (const MoonOutcome& outcome : outcomes) {
    double loss = 0, seconds = 0;
    int64_t updates = 0, successes = 0;
    for (const MoonNetwork& network : outcome.networks) {
      const Disentanglement& found = network.found;
      successes += found.holds(dominance);
      loss += network.loss / static_cast<double>(outcome.networks.size());
      seconds += network.training.trained.seconds;
      updates += network.training.trained.steps;
      trainings.add_row(
          {outcome.name, network.run + 1, Cell::fixed(network.loss, 4),
           fmt::format("{} {} {}", found.moons[0] + 1, found.moons[1] + 1, found.moons[2] + 1),
           Cell::fixed(found.least_dominance, 3), found.holds(dominance) ? "yes" : "no"});
    }
    rates.add_row({outcome.name, outcome.recipe.train.batch,
                   config::enum_name(outcome.recipe.start), std::ssize(outcome.networks), successes,
                   Cell::fixed(loss, 4),
                   Cell::fixed(1000 * seconds / static_cast<double>(updates), 1)});
  }
  results.add_table("disentangled", std::move(rates));
  results.add_table("trainings", std::move(trainings));
}

}  // namespace tessera::memory_mosaics_study
