// Three moons (section 5, figures 3, 4, 5 and 10): networks of one and of three memories predict
// where moons of unknown periods stand next, and how often training gives each memory a moon of its
// own.

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/report/heat_map.h"
#include "tessera/study/memory_mosaics/studies.h"
#include "tessera/task/moons/disentanglement.h"
#include "tessera/task/moons/free_running.h"
#include "tessera/task/sequence/task_batch.h"
#include "tessera/task/sequence/training.h"
#include "tessera/train/metrics_log.h"

namespace tessera::memory_mosaics_study {
namespace {

using namespace task;

/// A way to train three memories, and how often it is tried.
struct Recipe {
  int64_t seeds = 10;
  TrainConfig train = {};
  ComplexStart start = ComplexStart::kUniform;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("seeds", seeds, "trainings, with seeds of their own");
    field("train", train, "how the networks are trained");
    field("start", start, "how their matrices begin");
  }
};

/// The authors' training, from their code.
TrainConfig published_training() {
  return {.steps = 500,
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
          .checkpoint_every = 100};
}

/// The same with an eighth of the sequences.
TrainConfig small_batch_training() {
  TrainConfig train = published_training();
  train.batch = 8;
  return train;
}

struct Settings {
  ThreeMoonsConfig task;
  Recipe published = {.train = published_training()};
  Recipe small_batch = {.train = small_batch_training()};
  Recipe ours = {.train = small_batch_training(), .start = ComplexStart::kUnitary};
  std::vector<double> training_periods = {0.5, 1, 2.5};
  int64_t sequences = 512;
  int64_t free_steps = 25;
  int64_t stride = 4;
  double dominance = 0.8;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("task", task, "the moons; those that are trained on are always the training sets");
    field("published", published, "the authors' training");
    field("small_batch", small_batch, "the same with an eighth of the sequences");
    field("ours", ours, "a training of ours: as small_batch, from a unitary matrix");
    field("training_periods", training_periods,
          "the set of training periods that predictions are drawn for");
    field("sequences", sequences, "sequences in the mean of a prediction error");
    field("free_steps", free_steps, "predictions from one context");
    field("stride", stride, "from one context to the next");
    field("dominance", dominance,
          "share of a row's largest modulus from which on three memories count as disentangled");
  }
};

Settings quick_settings() {
  Settings settings;
  settings.published.seeds = 1;
  settings.small_batch.seeds = settings.ours.seeds = 3;
  settings.sequences = 64;
  settings.stride = 6;
  return settings;
}

Settings paper_settings() {
  Settings settings;
  settings.stride = 1;
  return settings;
}

/// A trained network.
struct Network {
  uint64_t seed;
  TrainedOnTask trained;
  double loss;  ///< mean of the last ten updates

  const ComplexMosaic& mosaic() const { return dynamic_cast<const ComplexMosaic&>(*trained.model); }
};

double last_loss(const std::filesystem::path& folder) {
  std::vector<double> losses;
  for (const auto& line : MetricsLog::read(folder / "metrics.jsonl"))
    if (line.at("kind") == "step") losses.push_back(line.at("loss"));
  const auto count = std::min<std::ptrdiff_t>(10, std::ssize(losses));
  return std::accumulate(losses.end() - count, losses.end(), 0.0) / static_cast<double>(count);
}

/// Training number `run` (from 0) of a recipe, in a folder of its own; a study that was stopped
/// continues it.
Network train(StudyContext& context, const Settings& settings, const Recipe& recipe,
              const std::string& name, int64_t heads, int64_t run) {
  TaskTrainingConfig config;
  config.task = {{"name", "three-moons"}};
  config.task.update(config::to_json(settings.task));
  config.task["sets"] = config::enum_name(MoonSets::kHeldOut);
  config.training_task = {{"sets", config::enum_name(MoonSets::kTraining)}};
  config.model = {{"kind", std::string(ComplexMosaic::kKind)},
                  {"heads", heads},
                  {"start", config::enum_name(recipe.start)}};
  config.data.test_samples = recipe.train.batch;
  config.train = recipe.train;
  config.train.seed = context.seed() + static_cast<uint64_t>(run);
  const auto folder =
      context.folder() / fmt::format("{}-{}-heads-seed{}", name, heads, config.train.seed);
  const bool begun = std::filesystem::exists(folder / "metrics.jsonl");
  const TrainedOnTask trained = train_on_task(
      config, RunFolder(folder, begun ? Start::kResume : Start::kNew), context.progress(),
      fmt::format("{}, {}, seed {}", name, heads == 1 ? "1 head" : "3 heads", config.train.seed));
  return {config.train.seed, trained, last_loss(folder)};
}

/// What came of a recipe.
struct Outcome {
  std::string name;
  const Recipe* recipe;
  std::vector<Network> networks;
  std::vector<Disentanglement> found;

  int64_t successes(double dominance) const {
    return std::count_if(found.begin(), found.end(),
                         [&](const Disentanglement& one) { return one.holds(dominance); });
  }
};

Outcome try_recipe(StudyContext& context, const Settings& settings, const Recipe& recipe,
                   const std::string& name) {
  Outcome outcome{name, &recipe, {}, {}};
  for (int64_t run = 0; run < recipe.seeds; ++run) {
    outcome.networks.push_back(train(context, settings, recipe, name, kMoons, run));
    outcome.found.push_back(disentanglement(outcome.networks.back().mosaic()));
  }
  return outcome;
}

void tabulate(StudyContext& context, const Settings& settings,
              const std::vector<Outcome>& outcomes) {
  Table rates(fmt::format("Three heads, a moon each: the largest modulus has {:g} % or more of "
                          "every row of W_φ, W_ψ and W_z, and the three agree on the moons",
                          100 * settings.dominance),
              {"training", "batch", "start", "seeds", "disentangled", "loss", "ms per update"});
  Table runs(
      "Every training of three heads: the moons of the memories, in order of their periods, "
      "and the smallest share that the largest modulus has of a row",
      {"training", "seed", "loss", "moons", "smallest share", "disentangled"});
  for (const Outcome& outcome : outcomes) {
    double loss = 0, seconds = 0;
    int64_t updates = 0;
    for (size_t i = 0; i < outcome.networks.size(); ++i) {
      const Network& network = outcome.networks[i];
      const Disentanglement& found = outcome.found[i];
      loss += network.loss / static_cast<double>(outcome.networks.size());
      seconds += network.trained.seconds;
      updates += network.trained.steps;
      runs.add_row(
          {outcome.name, network.seed, Cell::fixed(network.loss, 4),
           fmt::format("{} {} {}", found.moons[0] + 1, found.moons[1] + 1, found.moons[2] + 1),
           Cell::fixed(found.least_dominance, 3), found.holds(settings.dominance) ? "yes" : "no"});
    }
    const Recipe& recipe = *outcome.recipe;
    rates.add_row({outcome.name, recipe.train.batch, config::enum_name(recipe.start),
                   std::ssize(outcome.networks), outcome.successes(settings.dominance),
                   Cell::fixed(loss, 4),
                   Cell::fixed(1000 * seconds / static_cast<double>(updates), 1)});
  }
  context.results().add_table("disentangled", std::move(rates));
  context.results().add_table("trainings", std::move(runs));
}

/// Sequences that share their periods.
struct Sequences {
  std::string name;  ///< "held-out"
  MoonPeriods periods;
  at::Tensor observations;  ///< [B, T, 6]
};

Sequences sequences_of(StudyContext& context, const Settings& settings, std::string name,
                       const std::vector<double>& periods) {
  ThreeMoonsConfig config = settings.task;
  config.periods = periods;
  std::vector<int64_t> samples(static_cast<size_t>(settings.sequences));
  std::iota(samples.begin(), samples.end(), 0);
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

/// The first context that has nine tenths of the fall behind it, from the largest error to the mean
/// of the last tenth of the contexts.
double context_of_fall(const std::vector<ContextError>& errors) {
  const auto tail = std::max<std::ptrdiff_t>(1, std::ssize(errors) / 10);
  double most = 0, last = 0;
  for (const ContextError& one : errors) most = std::max(most, one.error);
  for (auto one = errors.end() - tail; one != errors.end(); ++one)
    last += one->error / static_cast<double>(tail);
  const auto fallen = std::find_if(errors.begin(), errors.end(), [&](const ContextError& one) {
    return one.error <= last + 0.1 * (most - last);
  });
  return static_cast<double>(fallen->context);
}

std::vector<ContextError> measure(StudyContext& context, const Settings& settings,
                                  const Network& network, const std::string& name,
                                  const Sequences& sequences) {
  Progress progress(context.progress(), fmt::format("{}, {} periods", name, sequences.name),
                    settings.task.steps - settings.free_steps);
  const auto errors = free_running_errors(*network.trained.model, sequences.observations,
                                          {.steps = settings.free_steps, .stride = settings.stride},
                                          [&](int64_t done) { progress.update(done); });
  for (const ContextError& one : errors)
    context.results().add_point({fmt::format("{}, {} periods", name, sequences.name),
                                 static_cast<double>(one.context), one.error});
  return errors;
}

/// Figures 4 and 5 for one set of periods.
void compare_networks(StudyContext& context, const Settings& settings, const Network& one_head,
                      const Network& three_heads, const Sequences& sequences) {
  const MoonPeriods& p = sequences.periods;
  const double slowest = settings.task.rate * *std::max_element(p.begin(), p.end());
  const double common = settings.task.rate * common_period(p);
  const double level = repeating_error(sequences.observations, settings.free_steps);
  double most = level;
  std::vector<Series> curves;
  for (const auto& [name, network, what, published] :
       {std::tuple("1 head", &one_head, "least common multiple", common),
        std::tuple("3 heads", &three_heads, "slowest period", slowest)}) {
    const auto errors = measure(context, settings, *network, name, sequences);
    Series& curve = curves.emplace_back(Series{name, {}});
    for (const ContextError& one : errors) {
      curve.points.push_back({static_cast<double>(one.context), one.error});
      most = std::max(most, one.error);
    }
    context.results().compare(
        {.what = fmt::format("{}, {} periods: observations until the error has fallen; published: "
                             "the {}",
                             name, sequences.name, what),
         .published = published,
         .ours = context_of_fall(errors)});
  }
  auto chart = std::make_unique<LineChart>(
      fmt::format("Prediction error, {} periods", sequences.name),
      Axis{"observations in the memories"},
      Axis{.label = fmt::format("mean |error| over the next {} steps", settings.free_steps),
           .low = 0,
           .high = 1.2 * most});  // room for the names of the periods
  for (Series& curve : curves) chart->add(std::move(curve));
  const double last = static_cast<double>(settings.task.steps - settings.free_steps);
  chart->add({"last one repeated", {{1, level}, {last, level}}, SeriesStyle::kReference});
  for (size_t moon = 0; moon < p.size(); ++moon)
    chart->mark(settings.task.rate * p[moon], fmt::format("p{}", moon + 1));
  chart->mark(common, "lcm");
  context.results().add_chart(
      "error-" + sequences.name, std::move(chart),
      fmt::format("Means over {} sequences of the periods {:g}, {:g}, {:g}. Upright: the periods "
                  "and their least common multiple. Figures 4 and 5.",
                  settings.sequences, p[0], p[1], p[2]));
}

/// Figure 10: what each memory looks for, stores and predicts.
void draw_matrices(StudyContext& context, const Network& network, const std::string& name,
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
        values[static_cast<size_t>((row * 3 + m) * kMoons + i)] =
            of_memories[row][i].item<double>();
    }
  }
  for (int64_t row = 1; row <= kMoons; ++row) rows.push_back(fmt::format("{} {}", row_name, row));
  auto map = std::make_unique<HeatMap>(fmt::format("Moduli of the matrices, {}", name), rows,
                                       columns, Axis{.label = "modulus", .low = 0});
  map->name_axes("", "moons that a key looks for (W_φ), a value has (W_ψ), the output gets (W_z)");
  map->set_values(std::move(values));
  context.results().add_chart(row_name == "memory" ? "matrices-3-heads" : "matrices-1-head",
                              std::move(map),
                              fmt::format("Training of seed {}. Figure 10.", network.seed));
}

void add_differences(StudyContext& context, const Settings& settings) {
  StudyResults& results = context.results();
  results.add_difference(
      "What the paper leaves open is as in the authors' code: the sets of periods, the optimiser "
      "and its schedule. Their pictures come from memories that store the value 0 for every "
      "prediction; here they store what was predicted.");
  results.add_difference(
      "The training 'ours' is not the paper's: W_φ and W_ψ begin as one random unitary matrix, W_z "
      "as its inverse, and a batch has an eighth of the sequences. 'small-batch' shows what the "
      "batch alone does.");
  if (settings.sequences != Settings().sequences || settings.stride != 1)
    results.add_difference(
        fmt::format("Errors are means over {} sequences at every {}th context; the paper has 512 "
                    "and every one.",
                    settings.sequences, settings.stride));
}

void check(const Settings& settings) {
  for (const auto& [name, recipe] : {std::pair("published", &settings.published),
                                     {"small_batch", &settings.small_batch},
                                     {"ours", &settings.ours}}) {
    if (recipe->seeds < 1)
      throw UsageError("{}.seeds is {}, expected 1 or more", name, recipe->seeds);
    recipe->train.check(name + std::string(".train"));
  }
  if (settings.sequences < 1 || settings.free_steps < 1 || settings.stride < 1 ||
      settings.free_steps >= settings.task.steps)
    throw UsageError(
        "sequences = {}, free_steps = {}, stride = {}; expected 1 or more of each, and fewer "
        "free_steps than task.steps, {}",
        settings.sequences, settings.free_steps, settings.stride, settings.task.steps);
  if (!(settings.dominance > 0 && settings.dominance <= 1))
    throw UsageError("dominance is {}, expected a share above 0 and at most 1", settings.dominance);
  ThreeMoonsConfig task = settings.task;
  task.periods = settings.training_periods;
  ThreeMoons{task};
}

}  // namespace

void three_moons(StudyContext& context) {
  const InterruptGuard guard;
  const Settings settings = context.settings(quick_settings(), Settings(), paper_settings());
  check(settings);
  const Network one_head = train(context, settings, settings.published, "published", 1, 0);
  std::vector<Outcome> outcomes;
  outcomes.push_back(try_recipe(context, settings, settings.published, "published"));
  outcomes.push_back(try_recipe(context, settings, settings.small_batch, "small-batch"));
  outcomes.push_back(try_recipe(context, settings, settings.ours, "ours"));

  // Figure 10 shows a network that was successful; so do we, where there is one.
  const Outcome& published = outcomes.front();
  const auto success = std::find_if(published.found.begin(), published.found.end(),
                                    [&](const auto& one) { return one.holds(settings.dominance); });
  const Network& three_heads =
      published.networks[success == published.found.end()
                             ? 0
                             : static_cast<size_t>(success - published.found.begin())];
  const MoonPeriods held_out = moon_periods(MoonSets::kHeldOut).front();
  for (const auto& [name, periods] :
       {std::pair("held-out", std::vector<double>(held_out.begin(), held_out.end())),
        std::pair("training", settings.training_periods)})
    compare_networks(context, settings, one_head, three_heads,
                     sequences_of(context, settings, name, periods));
  draw_matrices(context, three_heads, "3 heads", "memory");
  draw_matrices(context, one_head, "1 head", "channel");
  tabulate(context, settings, outcomes);
  add_differences(context, settings);
  context.results().compare({.what = "real parameters, 1 head and 3 heads",
                             .published = 54,
                             .ours = static_cast<double>(three_heads.mosaic().parameter_count())});
}

}  // namespace tessera::memory_mosaics_study
