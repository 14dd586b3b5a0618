// Three moons (section 5, figures 3, 4, 5 and 10): networks of one and of three memories predict
// where moons of unknown periods stand next, and how often training gives each memory a moon of its
// own.

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "lab/learner/moons/complex_mosaic.h"
#include "lab/learner/moons/free_running.h"
#include "lab/learner/sequence/task_batch.h"
#include "lab/learner/sequence/task_learner.h"
#include "lab/study/comparison.h"
#include "lab/study/memory_mosaics/studies.h"
#include "lab/task/moons/three_moons.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/base/progress.h"
#include "tessera/report/heat_map.h"
#include "tessera/train/metrics_log.h"

namespace tessera::memory_mosaics_study {
namespace {

using namespace task;

/// A way to train networks on three moons, and how often it is tried.
struct MoonRecipe {
  int64_t seeds = 10;
  TrainConfig train = {};
  ComplexStart start = ComplexStart::kUniform;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("seeds", seeds, "trainings, with seeds of their own", config::at_least(1));
    field("train", train, "how the networks are trained");
    field("start", start, "how their matrices begin");
  }
};

/// The authors' recipe, from their code.
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

/// The same with an eighth of the sequences.
MoonRecipe small_batch_recipe() {
  MoonRecipe recipe = published_recipe();
  recipe.train.batch = 8;
  return recipe;
}

/// Ours: as small_batch_recipe(), from a unitary matrix.
MoonRecipe our_recipe() {
  MoonRecipe recipe = small_batch_recipe();
  recipe.start = ComplexStart::kUnitary;
  return recipe;
}

struct ThreeMoonsSettings {
  ThreeMoonsConfig task;
  MoonRecipe published = published_recipe();
  MoonRecipe small_batch = small_batch_recipe();
  MoonRecipe ours = our_recipe();
  std::vector<double> training_periods = {0.5, 1, 2.5};
  int64_t sequences = 512;
  int64_t free_steps = 25;
  int64_t stride = 4;
  double dominance = 0.8;

  static inline const SettingNames kSetByStudy = {"train.seed", "task.sets", "task.periods"};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("task", task, "the moons; those that are trained on are always the training sets");
    field("published", published, "the authors' training");
    field("small_batch", small_batch, "the same with an eighth of the sequences");
    field("ours", ours, "a training of ours: as small_batch, from a unitary matrix");
    field("training_periods", training_periods,
          "the set of training periods that predictions are drawn for");
    field("sequences", sequences, "sequences in the mean of a prediction error",
          config::at_least(1));
    field("free_steps", free_steps, "predictions from one context", config::at_least(1));
    field("stride", stride, "from one context to the next", config::at_least(1));
    field("dominance", dominance,
          "share of a row's largest modulus from which on three memories count as disentangled",
          config::above(0, 1));
  }
};

ThreeMoonsSettings three_moons_settings(StudySize size) {
  ThreeMoonsSettings settings;
  if (size == StudySize::kQuick) {
    settings.published.seeds = 1;
    settings.small_batch.seeds = settings.ours.seeds = 3;
    settings.sequences = 64;
    settings.stride = 6;
  } else if (size == StudySize::kPaper) {
    settings.stride = 1;
  }
  return settings;
}

/// A trained network.
struct MoonNetwork {
  int64_t run;  ///< number of the training of its recipe, from 0
  StudyTraining<TaskLearner> training;
  double loss;  ///< mean of the last ten updates
  Disentanglement found = {};

  ComplexMosaic& mosaic() const { return dynamic_cast<ComplexMosaic&>(training.learner->model()); }
};

/// Mean training loss of the last ten updates of a run.
double last_loss(const std::filesystem::path& folder) {
  const std::map<int64_t, double> losses = logged_losses(folder);
  const auto count = std::min<std::ptrdiff_t>(10, std::ssize(losses));
  double sum = 0;
  for (auto loss = std::prev(losses.end(), count); loss != losses.end(); ++loss)
    sum += loss->second;
  return sum / static_cast<double>(count);
}

/// The first `runs` trainings of the recipe of this name. They train on the training sets of the
/// task and validate on the held-out one. Throws what compare() throws.
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

/// What came of a recipe with three heads.
struct MoonOutcome {
  std::string name;
  MoonRecipe recipe;
  std::vector<MoonNetwork> networks;
};

/// Adds two tables: how often each recipe was successful, and every training.
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

/// Sequences that share their periods.
struct Sequences {
  std::string name;         ///< "held-out"
  MoonPeriods periods;      ///< the shortest first
  at::Tensor observations;  ///< [B, T, 6]
};

Sequences sequences_of(StudyContext& context, const ThreeMoonsSettings& settings, std::string name,
                       std::vector<double> periods) {
  ThreeMoonsConfig config = settings.task;
  std::sort(periods.begin(), periods.end());
  config.periods = periods;
  const auto samples = consecutive<int64_t>(settings.sequences);
  const TaskBatch batch =
      make_batch(ThreeMoons(config), split_seed(context.seed(), Split::kTest), samples);
  return {std::move(name),
          {periods[0], periods[1], periods[2]},
          batch.inputs.transpose(0, 1).contiguous()};
}

/// Mean |error| of saying the last observation for all of the next `steps`.
double repeating_error(const at::Tensor& observations, int64_t steps) {
  double sum = 0;
  const int64_t T = observations.size(1);
  for (int64_t ahead = 1; ahead <= steps; ++ahead)
    sum += (observations.slice(1, ahead) - observations.slice(1, 0, T - ahead))
               .abs()
               .mean()
               .item()
               .toDouble();
  return sum / static_cast<double>(steps);
}

/// The context at which the error falls most from the one before.
int64_t steepest_fall(const std::vector<ContextError>& errors) {
  size_t steepest = 0;
  double most = 0;
  for (size_t i = 1; i < errors.size(); ++i)
    if (const double fall = errors[i - 1].error - errors[i].error; fall > most) {
      most = fall;
      steepest = i;
    }
  return errors[steepest].context;
}

/// Mean error at the contexts from `first` to before `end`; empty where there is none.
Cell mean_error(const std::vector<ContextError>& errors, double first, double end) {
  double sum = 0;
  int64_t count = 0;
  for (const ContextError& one : errors)
    if (const double context = one.context; first <= context && context < end) {
      sum += one.error;
      ++count;
    }
  return count > 0 ? Cell::fixed(sum / static_cast<double>(count), 3) : Cell();
}

std::vector<ContextError> context_errors(StudyContext& context, const ThreeMoonsSettings& settings,
                                         const MoonNetwork& network, const std::string& series,
                                         const Sequences& sequences) {
  Progress progress(context.progress(), series, settings.task.steps - settings.free_steps);
  const auto errors = free_running_errors(network.mosaic(), sequences.observations,
                                          {.steps = settings.free_steps, .stride = settings.stride},
                                          [&](int64_t done) { progress.update(done); });
  for (const ContextError& one : errors)
    context.results().add_point({series, static_cast<double>(one.context), one.error});
  return errors;
}

/// Figures 4 and 5 for one set of periods, and a row of `stretches` for each network.
void compare_networks(StudyContext& context, const ThreeMoonsSettings& settings,
                      const MoonNetwork& one_head, const MoonNetwork& three_heads,
                      const Sequences& sequences, Table& stretches) {
  std::vector<double> marks;  // the periods and the least common multiple, in steps
  for (const double period : sequences.periods) marks.push_back(settings.task.rate * period);
  marks.push_back(settings.task.rate * common_period(sequences.periods));
  const double level = repeating_error(sequences.observations, settings.free_steps);
  double most = level;
  std::vector<ShownSeries> curves;
  for (const auto& [name, network] : {std::pair("1 head", &one_head), {"3 heads", &three_heads}}) {
    curves.push_back({fmt::format("{}, {} periods", name, sequences.name), name});
    const auto errors =
        context_errors(context, settings, *network, curves.back().series, sequences);
    for (const ContextError& one : errors) most = std::max(most, one.error);
    stretches.add_row({sequences.name, name, mean_error(errors, 0, marks[0]),
                       mean_error(errors, marks[0], marks[1]),
                       mean_error(errors, marks[1], marks[2]),
                       mean_error(errors, marks[2], marks[3]),
                       mean_error(errors, marks[3], static_cast<double>(settings.task.steps))});
    if (network == &one_head)
      context.results().compare(
          {.what = fmt::format("1 head, {} periods: observations at the steepest fall of the "
                               "error; published: the least common multiple",
                               sequences.name),
           .published = marks.back(),
           .ours = static_cast<double>(steepest_fall(errors))});
  }
  auto chart = context.results().panel_of_points(
      fmt::format("Prediction error, {} periods", sequences.name), {"observations in the memories"},
      {.label = fmt::format("mean |error| over the next {} steps", settings.free_steps),
       .low = 0,
       .high = 1.2 * most},  // room for the names of the periods
      curves);
  const double last = static_cast<double>(settings.task.steps - settings.free_steps);
  chart->add({"last one repeated", {{1, level}, {last, level}}, SeriesStyle::kReference});
  const char* const kNames[] = {"p1", "p2", "p3", "lcm"};
  for (size_t i = 0; i < marks.size(); ++i) chart->mark(marks[i], kNames[i]);
  context.results().add_chart(
      "error-" + sequences.name, std::move(chart),
      fmt::format("Means over {} sequences of the periods {:g}, {:g}, {:g}. Upright: the periods "
                  "and their least common multiple. Figures 4 and 5.",
                  settings.sequences, sequences.periods[0], sequences.periods[1],
                  sequences.periods[2]));
}

/// Figure 10: what each memory looks for, stores and predicts.
void draw_matrices(StudyContext& context, const MoonNetwork& network, const std::string& name,
                   const std::string& row_name) {
  std::vector<std::string> rows, columns;
  std::vector<double> values(3 * kMoons * kMoons);
  const auto parameters = network.mosaic().named_parameters();
  const std::pair<const char*, const char*> kMatrices[] = {
      {"key", "W_φ"}, {"value", "W_ψ"}, {"output", "W_z"}};
  for (int64_t m = 0; m < 3; ++m) {
    at::Tensor of_memories = moduli(parameters[kMatrices[m].first]);
    if (m == 2) of_memories = of_memories.t();
    for (int64_t i = 0; i < kMoons; ++i) {
      columns.push_back(fmt::format("{} {}", kMatrices[m].second, i + 1));
      for (int64_t row = 0; row < kMoons; ++row)
        values[(row * 3 + m) * kMoons + i] = of_memories[row][i].item<double>();
    }
  }
  for (int64_t row = 1; row <= kMoons; ++row) rows.push_back(fmt::format("{} {}", row_name, row));
  auto map = std::make_unique<HeatMap>(fmt::format("Moduli of the matrices, {}", name), rows,
                                       columns, Axis{.label = "modulus", .low = 0});
  map->name_axes("", "moons that a key looks for (W_φ), a value has (W_ψ), the output gets (W_z)");
  map->set_values(std::move(values));
  context.results().add_chart(row_name == "memory" ? "matrices-3-heads" : "matrices-1-head",
                              std::move(map), fmt::format("Run {}. Figure 10.", network.run + 1));
}

void add_moon_differences(StudyContext& context, const ThreeMoonsSettings& settings,
                          const MoonNetwork& three_heads) {
  StudyResults& results = context.results();
  results.add_difference(fmt::format(
      "Errors and matrices of three heads are those of run {} of 'published': the first "
      "that gave each memory a moon of its own, if there is one.",
      three_heads.run + 1));
  results.add_difference(
      "What the paper leaves open is as in the authors' code: the sets of periods, the optimiser "
      "and its schedule. Their pictures come from memories that store the value 0 for every "
      "prediction; here they store what was predicted.");
  results.add_difference(
      "The training 'ours' is not the paper's: W_φ and W_ψ begin as one random unitary matrix, W_z "
      "as its inverse, and a batch has an eighth of the sequences. 'small-batch' shows what the "
      "batch alone does.");
  if (settings.sequences != ThreeMoonsSettings().sequences || settings.stride != 1)
    results.add_difference(
        fmt::format("Errors are means over {} sequences, with a stride of {} between contexts; "
                    "the paper has 512 and 1.",
                    settings.sequences, settings.stride));
}

void check_moons(const ThreeMoonsSettings& settings) {
  for (const auto& [name, recipe] : {std::pair("published", &settings.published),
                                     {"small_batch", &settings.small_batch},
                                     {"ours", &settings.ours}})
    recipe->train.check(name + std::string(".train"));
  if (settings.free_steps >= settings.task.steps)
    throw UsageError("free_steps is {}, expected fewer than task.steps, {}", settings.free_steps,
                     settings.task.steps);
  check_list("training_periods", settings.training_periods);
  ThreeMoonsConfig task = settings.task;
  task.periods = settings.training_periods;
  ThreeMoons{task};
}

}  // namespace

void three_moons(StudyContext& context) {
  const ThreeMoonsSettings settings = context.settings(three_moons_settings, kNoSetting);
  check_moons(settings);
  const MoonNetwork one_head =
      train_on_moons(context, settings.task, settings.published, "published", 1, /*runs=*/1)
          .front();
  std::vector<MoonOutcome> outcomes;
  for (const auto& [name, recipe] : {std::pair("published", &settings.published),
                                     {"small-batch", &settings.small_batch},
                                     {"ours", &settings.ours}})
    outcomes.push_back(
        {name, *recipe,
         train_on_moons(context, settings.task, *recipe, name, kMoons, recipe->seeds)});

  // Figure 10 shows a network that was successful; so do we, where there is one.
  const auto& published = outcomes.front().networks;
  const auto success = std::ranges::find_if(published, [&](const MoonNetwork& network) {
    return network.found.holds(settings.dominance);
  });
  const MoonNetwork& three_heads = success == published.end() ? published.front() : *success;
  const MoonPeriods held_out = moon_periods(MoonSets::kHeldOut).front();
  Table stretches(
      fmt::format("Mean |error| over the next {} steps. Published: one head falls at the least "
                  "common multiple (lcm) alone, three heads at each period, and they are accurate "
                  "from the slowest one on",
                  settings.free_steps),
      {"periods", "network", "before p1", "p1 to p2", "p2 to p3", "p3 to lcm", "after lcm"});
  for (const auto& [name, periods] :
       {std::pair("held-out", std::vector<double>(held_out.begin(), held_out.end())),
        std::pair("training", settings.training_periods)})
    compare_networks(context, settings, one_head, three_heads,
                     sequences_of(context, settings, name, periods), stretches);
  context.results().add_table("errors", std::move(stretches));
  draw_matrices(context, three_heads, "3 heads", "memory");
  draw_matrices(context, one_head, "1 head", "channel");
  add_outcomes(outcomes, settings.dominance, context.results());
  add_moon_differences(context, settings, three_heads);
  context.results().compare({.what = "real parameters, 1 head and 3 heads",
                             .published = 54,
                             .ours = static_cast<double>(three_heads.mosaic().parameter_count())});
}

}  // namespace tessera::memory_mosaics_study
