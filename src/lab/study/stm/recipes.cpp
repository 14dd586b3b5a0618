// How each model is best trained on a task: figure 2 and table 3 do not say how it was found.

#include <cmath>

#include "lab/study/stm/sequence_comparison.h"
#include "lab/study/stm/studies.h"
#include "lab/task/sequence/task_kinds.h"

namespace tessera::stm_study {
namespace {

struct RecipeSettings {
  std::string task;
  std::vector<std::string> sizes;
  std::vector<std::string> models = {"STM", "LSTM"};
  std::vector<double> learning_rates = {1e-3, 3e-3, 1e-2}, alphas = {0, 0.5};
  std::vector<int64_t> slots = {4}, widths = {32};
  Baselines baselines = short_training_baselines();
  TrainConfig train;

  static inline const SettingNames kSetByStudy = {
      "train.seed", "train.learning_rate", "train.min_learning_rate", "inputs",
      "outputs",    "baselines.batch",     "baselines.learning_rate",
  };

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("task", task, "name of the task");
    field("sizes", sizes, "keys of the task that are not its defaults: \"bits=16\"");
    field("models", models, "which models are tried");
    field("learning_rates", learning_rates,
          "rates that are tried, each of which falls to a hundredth; the baselines get as many, "
          "from the lowest to the highest, as the STM has tries",
          config::above(0));
    field("alphas", alphas, "STM: where alpha 1, 2 and 3 begin");
    field("slots", slots, "STM: numbers of slots, n_q");
    field("widths", widths, "STM: widths of the memories, d");
    field("baselines", baselines, "what it is compared with");
    field("train", train, "how each is trained, but for the rate");
  }
};

RecipeSettings recipe_settings(StudySize size) {
  RecipeSettings settings{
      .task = "copy", .sizes = {"bits=16", "max_length=10"}, .train = short_training(1'000, 64)};
  settings.train.warmup_steps = 100;
  if (size != StudySize::kQuick) return settings;
  settings.sizes = {"bits=4", "max_length=3"};
  settings.learning_rates = {3e-3, 1e-2};
  settings.widths = {12};
  settings.train.steps = 200;
  settings.train.batch = 16;
  settings.train.warmup_steps = 20;
  return settings;
}

/// A model with the rate at which it is tried.
struct Try {
  std::string model, how;
  std::string folder;  ///< with all digits: tries that are shown alike are trained apart
  config::Json table;
  double rate = 0;

  std::string name() const {
    return fmt::format("{}, {:.2g}{}", model, rate, how.empty() ? "" : ", " + how);
  }
};

/// Every combination of what is tried of the STM.
std::vector<Try> stm_tries(const RecipeSettings& settings) {
  std::vector<Try> tries;
  for (const double rate : settings.learning_rates)
    for (const double alpha : settings.alphas)
      for (const int64_t slots : settings.slots)
        for (const int64_t width : settings.widths)
          tries.push_back(
              {"STM", fmt::format("alpha {:g}, n_q {}, d {}", alpha, slots, width),
               fmt::format("stm-rate-{}-alpha-{}-n-q-{}-d-{}", rate, alpha, slots, width),
               model_table<Stm>(short_training_stm(slots, width, {alpha, alpha, alpha})), rate});
  return tries;
}

/// As many rates for each baseline, evenly from the lowest to the highest; where these are equal,
/// one.
std::vector<Try> tries_of(const Contestant& contestant, const RecipeSettings& settings) {
  std::vector<Try> tries = stm_tries(settings);
  if (contestant.name == "STM") return tries;
  const auto [lowest, highest] = std::ranges::minmax(settings.learning_rates);
  if (lowest == highest) tries.erase(tries.begin() + 1, tries.end());
  const double last = std::max<double>(static_cast<double>(tries.size()) - 1, 1);
  for (size_t i = 0; i < tries.size(); ++i) {
    const double rate = lowest * std::pow(highest / lowest, static_cast<double>(i) / last);
    tries[i] = {contestant.name, "", fmt::format("{}-rate-{}", folder_name(contestant.name), rate),
                contestant.model, rate};
  }
  return tries;
}

/// The keys of the task that are not its defaults.
config::Json sizes_of(const RecipeSettings& settings) {
  config::Json sizes = config::Json::object();
  for (const auto& size : settings.sizes) config::set_from_text(sizes, size);
  return sizes;
}

task::TaskTrainingConfig training_of(const StudyContext& context, const RecipeSettings& settings,
                                     const Try& one) {
  task::TaskTrainingConfig config;
  config.task = {{"name", settings.task}};
  config.task.update(sizes_of(settings));
  config.model = one.table;
  config.train = settings.train;
  config.train.seed = context.training_seed(0);
  config.train.learning_rate = one.rate;
  config.train.min_learning_rate = one.rate / 100;
  return config;
}

/// Whether a better rate may lie beyond those of these tries.
std::string edge_text(double rate, const std::vector<Try>& tries) {
  const auto [lowest, highest] = std::ranges::minmax(tries, {}, &Try::rate);
  if (lowest.rate == highest.rate) return "";
  if (rate == lowest.rate) return " (the lowest rate tried)";
  return rate == highest.rate ? " (the highest rate tried)" : "";
}

void check_recipes(const RecipeSettings& settings) {
  check_list("learning_rates", settings.learning_rates);
  check_list("alphas", settings.alphas);
  check_list("slots", settings.slots);
  check_list("widths", settings.widths);
}

}  // namespace

void recipes(StudyContext& context) {
  const RecipeSettings settings = context.settings(recipe_settings, kNoSetting);
  check_recipes(settings);
  const auto models =
      chosen_by_name(beside_baselines(settings.baselines, {{.name = "STM"}}), settings.models);
  for (const Contestant& model : models)
    for (const Try& one : tries_of(model, settings)) training_of(context, settings, one).check();
  const ShownMetric metric =
      task::shown_metrics(*task::task_kind(settings.task).make(sizes_of(settings))).front();
  Table table("What was tried, with the score of the test",
              {"model", "rate", "how", "parameters", "validation loss", metric.label});
  StudyResults& results = context.results();
  std::string best_of_all;
  for (const Contestant& model : models) {
    double best = std::numeric_limits<double>::infinity();
    std::string recipe = model.name + ": every training diverged";
    const std::vector<Try> tries = tries_of(model, settings);
    for (const Try& one : tries) {
      task::TaskLearner learner(training_of(context, settings, one));
      const auto trained = unless_diverged([&] {
        return train_contestant(context, learner, {.name = one.name(), .folder = one.folder});
      });
      const double test = trained ? metric.factor * trained->test.at(metric.name) : NAN;
      table.add_row({one.model, fmt::format("{:.2g}", one.rate), one.how, learner.parameter_count(),
                     trained ? Cell::fixed(trained->validation_loss(), 4) : Cell("diverged"),
                     fixed_or_empty(test, metric.decimals)});
      if (!trained) continue;
      results.add_point({.series = one.model, .x = one.rate, .y = test});
      if (!(trained->validation_loss() < best)) continue;
      best = trained->validation_loss();
      recipe = fmt::format("{}{}: {} {:.{}f}", one.name(), edge_text(one.rate, tries), metric.label,
                           test, metric.decimals);
    }
    best_of_all += fmt::format("{}\n", recipe);
  }
  results.add_table("tries", std::move(table));
  results.add_text("The best of each model on validation, with its test score", best_of_all);
}

}  // namespace tessera::stm_study
