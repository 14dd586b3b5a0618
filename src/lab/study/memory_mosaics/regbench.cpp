// Figure 9 and table 3: learning random languages in context (RegBench).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "lab/learner/regbench/regbench_batch.h"
#include "lab/learner/regbench/regbench_learner.h"
#include "lab/study/comparison.h"
#include "lab/study/memory_mosaics/studies.h"
#include "tessera/report/line_chart.h"

namespace tessera::memory_mosaics_study {
namespace {

using config::Json;
using task::MeasuredOn;
using task::RegBenchLearner;

/// The values that are tried in every combination; the lowest validation loss decides.
struct Search {
  std::vector<int64_t> layers = {2};
  std::vector<int64_t> heads = {4};
  std::vector<int64_t> channels = {64};
  std::vector<double> weight_decay = {0.1};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("layers", layers, "blocks, or LSTM layers");
    field("heads", heads, "memories per unit, attention or retention heads");
    field("channels", channels, "widths of the network");
    field("weight_decay", weight_decay, "weight decay of AdamW");
  }
};

struct RegBenchSettings {
  task::RegBenchConfig task;
  std::vector<std::string> models;
  std::vector<int64_t> languages;
  int64_t trained_languages = 100;
  int64_t held_out = 250;
  Search search;
  double dropout = 0.05;
  int64_t epochs = 200;
  int64_t most_updates = 0;
  int64_t evaluations = 20;
  TrainConfig train = {.batch = 32,
                       .learning_rate = 5e-4,
                       .min_learning_rate = 5e-5,
                       .weight_decay = 0.1,
                       .beta2 = 0.999,
                       .evaluate_batches = 8};

  static inline const SettingNames kSetByStudy = {"train.seed",
                                                  "train.steps",
                                                  "train.warmup_steps",
                                                  "train.evaluate_every",
                                                  "train.checkpoint_every",
                                                  "train.weight_decay"};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("task", task, "the random languages");
    field("models", models, "which are trained, by their names in the table of results");
    field("languages", languages, "numbers of training languages, measured on new languages");
    field("trained_languages", trained_languages,
          "training languages that are measured on new strings of the same (0: leave out)");
    field("held_out", held_out,
          "number of test sequences; validation reads as many, at most train.evaluate_batches "
          "batches");
    field("search", search, "what is tried for every model and number of languages");
    field("dropout", dropout, "probability, in all models", config::below(1));
    field("epochs", epochs, "how often each training sequence is read", config::at_least(1));
    field("most_updates", most_updates,
          "maximum number of updates of one training (0: as many as the epochs have)");
    field("evaluations", evaluations, "evaluations of one training; the best weights are kept",
          config::at_least(1));
    field("train", train, "how every model is trained; steps and warm-up follow from the epochs");
  }
};

/// A score as the paper has it; NaN where it has none.
struct PublishedScore {
  double accuracy = ResultPoint::kNone;
  double distance = ResultPoint::kNone;
};

/// A model of the figure.
struct Entry {
  std::string name;
  Json model;
  std::map<int64_t, PublishedScore> new_languages = {};  ///< by their number; read off figure 9
  PublishedScore trained_languages = {};                 ///< table 3
};

std::vector<Entry> entries() {
  const std::map<int64_t, PublishedScore> mosaic = {{100, {.925, .57}},
                                                    {500, {.928, .25}},
                                                    {1000, {.935, .215}},
                                                    {2500, {.94, .185}},
                                                    {40000, {.96, .12}}};
  const std::map<int64_t, PublishedScore> transformer = {{100, {.52, .68}},
                                                         {500, {.54, .64}},
                                                         {1000, {.53, .63}},
                                                         {2500, {.925, .23}},
                                                         {40000, {.95, .145}}};
  return {{"Memory Mosaic",
           {{"kind", "memory_mosaic"}, {"parameterisation", "paper"}},
           mosaic,
           {.959, .417}},
          {"Memory Mosaic, nano", {{"kind", "memory_mosaic"}, {"parameterisation", "nano"}}},
          {"GPT, learned", {{"kind", "gpt"}, {"positions", "learned"}}, transformer, {.856, .308}},
          {"GPT, rotary", {{"kind", "gpt"}, {"positions", "rotary"}}},
          {"GPT, ALiBi", {{"kind", "gpt"}, {"positions", "alibi"}}},
          {"LSTM", {{"kind", "lstm"}}, {}, {.849, .343}},
          {"RetNet", {{"kind", "retnet"}}, {}, {.876, .296}}};
}

/// The paper's. By default: half the length, one size of network, and a learning rate for few
/// updates. Quick: fewer and shorter strings.
RegBenchSettings regbench_settings(StudySize size) {
  RegBenchSettings settings;
  for (const Entry& entry : entries()) settings.models.push_back(entry.name);
  settings.languages = {100, 500, 1000, 2500, 40000};
  settings.search = {{2, 4, 8}, {2, 4, 8}, {64, 128, 256}, {0.01, 0.1}};
  if (size == StudySize::kPaper) return settings;
  settings.task.max_length = 24;
  settings.languages = {100, 1000};
  settings.search = {{2}, {4, 8}, {64}, {0.1}};
  settings.most_updates = 400;
  settings.train.learning_rate = 2e-3;
  settings.train.min_learning_rate = 2e-4;
  if (size == StudySize::kDefault) return settings;
  settings.task.min_strings = 6;
  settings.task.max_strings = 10;
  settings.task.max_length = 15;
  settings.search.heads = {4};
  settings.most_updates = 200;
  settings.evaluations = 8;
  return settings;
}

/// One network with one weight decay.
struct Trial {
  Json model;
  double weight_decay = 0;
  bool operator==(const Trial&) const = default;
};

/// Every combination of the search that this model tells apart.
std::vector<Trial> trials_of(const Entry& entry, const RegBenchSettings& settings) {
  std::vector<Trial> trials;
  for (const int64_t layers : settings.search.layers)
    for (const int64_t heads : settings.search.heads)
      for (const int64_t channels : settings.search.channels)
        for (const double weight_decay : settings.search.weight_decay) {
          Trial trial{entry.model, weight_decay};
          trial.model["layers"] = layers;
          trial.model["channels"] = channels;
          trial.model["dropout"] = settings.dropout;
          if (has_heads(entry.model)) trial.model["heads"] = heads;
          if (std::find(trials.begin(), trials.end(), trial) == trials.end())
            trials.push_back(std::move(trial));
        }
  return trials;
}

/// A model, a number of training languages, and what it is measured on.
struct Experiment {
  Entry entry;
  int64_t languages = 0;
  MeasuredOn measured_on = MeasuredOn::kNewLanguages;
};

task::RegBenchTrainingConfig trial_config(const StudyContext& context,
                                          const RegBenchSettings& settings,
                                          const Experiment& experiment, const Trial& trial) {
  const auto& [entry, languages, measured_on] = experiment;
  task::RegBenchTrainingConfig config{.task = settings.task,
                                      .data = {languages, settings.held_out, measured_on},
                                      .model = trial.model,
                                      .train = settings.train};
  if (measured_on == MeasuredOn::kTrainedLanguages)
    config.data.held_out = std::min(settings.held_out, languages);
  TrainConfig& train = config.train;
  const int64_t micro_batches = settings.epochs * (languages / train.batch);
  train.steps = std::max<int64_t>(1, micro_batches / train.accumulation);
  if (settings.most_updates > 0) train.steps = std::min(train.steps, settings.most_updates);
  train.warmup_steps = train.steps / 10;
  train.evaluate_every = std::max<int64_t>(1, train.steps / settings.evaluations);
  train.checkpoint_every = train.evaluate_every;
  train.weight_decay = trial.weight_decay;
  train.seed = context.seed();
  return config;
}

/// "100-new-languages/memory-mosaic/2-layers-4-heads-64-wide-decay-0.1".
std::string folder_of(const task::RegBenchTrainingConfig& config, const std::string& name) {
  const Json& model = config.model;
  return fmt::format("{}-{}/{}/{}-layers-{}{}-wide-decay-{}", config.data.languages,
                     config::enum_name(config.data.measured_on), folder_name(name),
                     model.at("layers").dump(),
                     model.contains("heads") ? model.at("heads").dump() + "-heads-" : "",
                     model.at("channels").dump(), config.train.weight_decay);
}

/// What a model came to with so many languages.
struct RegBenchOutcome {
  std::string name;
  task::RegBenchTrainingConfig config;  ///< of the trial with the lowest validation loss
  StudyTraining<RegBenchLearner> training;
  int64_t trials = 0;
  PublishedScore published;

  bool is_on_new_languages() const { return config.data.measured_on == MeasuredOn::kNewLanguages; }
};

RegBenchOutcome best_of_search(StudyContext& context, const RegBenchSettings& settings,
                               const Experiment& experiment) {
  const auto& [entry, languages, measured_on] = experiment;
  std::optional<RegBenchOutcome> best;
  const std::vector<Trial> trials = trials_of(entry, settings);
  for (const Trial& trial : trials) {
    auto config = trial_config(context, settings, experiment, trial);
    const Contestant contestant{.name = fmt::format("{}, {} languages", entry.name, languages),
                                .folder = folder_of(config, entry.name)};
    auto training = unless_diverged([&] {
      return train_alone(context, std::make_shared<RegBenchLearner>(config), contestant);
    });
    if (!training) continue;
    if (!best || training->trained.validation_loss() < best->training.trained.validation_loss())
      best = RegBenchOutcome{
          entry.name, std::move(config), *std::move(training), std::ssize(trials), {}};
  }
  if (!best) throw std::runtime_error(fmt::format("{}: every trial diverges", entry.name));
  if (measured_on == MeasuredOn::kTrainedLanguages)
    best->published = entry.trained_languages;
  else if (const auto found = entry.new_languages.find(languages);
           found != entry.new_languages.end())
    best->published = found->second;
  return std::move(*best);
}

/// Whether the languages have the paper's sizes.
bool is_published_task(const task::RegBenchConfig& task) {
  return config::to_json(task) == config::to_json(regbench_settings(StudySize::kPaper).task);
}

void add_comparisons(const std::vector<RegBenchOutcome>& outcomes, StudyResults& results) {
  for (const RegBenchOutcome& outcome : outcomes) {
    const std::string where =
        fmt::format("{}, {} languages{}", outcome.name, outcome.config.data.languages,
                    outcome.is_on_new_languages() ? "" : ", new strings of the same");
    const auto compare = [&](const char* label, double published, const char* metric) {
      results.compare({.what = fmt::format("{}: {}", where, label),
                       .published = published,
                       .ours = outcome.training.trained.test.at(metric),
                       .unlike = is_published_task(outcome.config.task) ? "" : "other strings"});
    };
    compare("accuracy", outcome.published.accuracy, "accuracy");
    compare("TVD", outcome.published.distance, "distance");
  }
}

/// Of the outcomes on new languages or on trained ones.
Table score_table(const std::vector<RegBenchOutcome>& outcomes, bool on_new_languages,
                  const std::string& title) {
  Table table(title,
              {"model", "languages", "accuracy", "TVD", "loss (nats)", "updates", "minutes"});
  for (const RegBenchOutcome& outcome : outcomes) {
    if (outcome.is_on_new_languages() != on_new_languages) continue;
    const Trained& trained = outcome.training.trained;
    table.add_row(
        {outcome.name, outcome.config.data.languages, Cell::fixed(trained.test.at("accuracy"), 3),
         Cell::fixed(trained.test.at("distance"), 3), Cell::fixed(trained.test.at("loss"), 3),
         trained.steps, Cell::fixed(trained.seconds / 60, 1)});
  }
  return table;
}

Table network_table(const std::vector<RegBenchOutcome>& outcomes) {
  Table table("The networks: those of the lowest validation loss among what was tried",
              {"model", "languages", "measured on", "tried", "layers", "heads", "channels", "decay",
               "parameters"});
  for (const RegBenchOutcome& outcome : outcomes) {
    const Json& model = outcome.config.model;
    table.add_row({outcome.name, outcome.config.data.languages,
                   outcome.is_on_new_languages() ? "new ones" : "the same", outcome.trials,
                   model.at("layers").get<int64_t>(),
                   model.contains("heads") ? Cell(model.at("heads").get<int64_t>()) : Cell(),
                   model.at("channels").get<int64_t>(),
                   Cell::significant(outcome.config.train.weight_decay, 3),
                   outcome.training.learner->parameter_count()});
  }
  return table;
}

/// What counting in the sequence itself scores on the test sequences of new languages.
struct Level {
  std::string name;
  Metrics score;
};

std::vector<Level> levels_of(const std::vector<RegBenchOutcome>& outcomes) {
  const auto found = std::find_if(outcomes.begin(), outcomes.end(), [](const auto& outcome) {
    return outcome.is_on_new_languages();
  });
  if (found == outcomes.end()) return {};
  const auto& config = found->config;
  const auto counted = [&](int64_t context) {
    const task::RegBenchScore score = task::score_context_counts(
        task::RegBench(config.task), config.set(task::Split::kTest), config.data.held_out, context);
    return Metrics{{"accuracy", score.accuracy()}, {"distance", score.distance()}};
  };
  return {{"counts of letters", counted(0)},
          {"counts after one symbol", counted(1)},
          {"counts after two symbols", counted(2)}};
}

Table level_table(const std::vector<Level>& levels) {
  Table table("Counting in the sequence, without any training", {"strategy", "accuracy", "TVD"});
  for (const auto& [name, score] : levels)
    table.add_row(
        {name, Cell::fixed(score.at("accuracy"), 3), Cell::fixed(score.at("distance"), 3)});
  return table;
}

/// One panel of figure 9: a score against the number of training languages. metric: also the name
/// of the picture's file; label: what it is called there.
void add_panel(const std::vector<RegBenchOutcome>& outcomes, const std::vector<Level>& levels,
               StudyResults& results, const std::string& metric, const std::string& title,
               const std::string& label, double PublishedScore::*published) {
  std::vector<std::string> names;
  for (const RegBenchOutcome& outcome : outcomes)
    if (std::find(names.begin(), names.end(), outcome.name) == names.end())
      names.push_back(outcome.name);
  double first = INFINITY, last = 0;
  std::vector<ShownSeries> curves;
  for (const std::string& name : names) {
    curves.push_back({fmt::format("{}, {}", name, label), name});
    for (const RegBenchOutcome& outcome : outcomes) {
      if (outcome.name != name || !outcome.is_on_new_languages()) continue;
      const double languages = outcome.config.data.languages;
      first = std::min(first, languages);
      last = std::max(last, languages);
      results.add_point({.series = curves.back().series,
                         .x = languages,
                         .y = outcome.training.trained.test.at(metric),
                         .published = outcome.published.*published});
    }
  }
  auto chart = results.panel_of_points(title, {"training languages", Scale::kLog},
                                       {label, Scale::kLinear, 0.0, 1.0}, curves);
  for (const Level& level : levels) {
    const double value = level.score.at(metric);
    chart->add({level.name, {{first, value}, {last, value}}, SeriesStyle::kReference});
  }
  results.add_chart(metric, std::move(chart),
                    "Hollow points: as published, read off the figure. Dashed lines without "
                    "points: who only counts what followed the last symbols in the sequence "
                    "itself.");
}

void add_regbench_differences(const RegBenchSettings& settings, StudyResults& results) {
  const task::RegBenchConfig& task = settings.task;
  if (!is_published_task(task))
    results.add_difference(fmt::format(
        "Sequences of {} to {} strings of {} to {} symbols; the paper's have 10 to 19 of 1 to 49.",
        task.min_strings, task.max_strings, task.min_length, task.max_length));
  if (settings.most_updates > 0)
    results.add_difference(fmt::format(
        "At most {} updates a training, at a rate of up to {:g}; the paper reads its training "
        "sequences 200 times (800 updates for 100 languages, 250,000 for 40,000), at up to 5e-4.",
        settings.most_updates, settings.train.learning_rate));
  if (const Search& search = settings.search;
      config::to_json(search) != config::to_json(regbench_settings(StudySize::kPaper).search))
    results.add_difference(fmt::format(
        "Tried: {} layers, {} heads, {} channels, weight decay {}; the paper tries 2, 4, 8 layers, "
        "2, 4, 8 heads, 64, 128, 256 channels, weight decay 0.01, 0.1, in every combination.",
        fmt::join(search.layers, ", "), fmt::join(search.heads, ", "),
        fmt::join(search.channels, ", "), fmt::join(search.weight_decay, ", ")));
  results.add_difference(
      "The languages are drawn by our generator, the new ones without a look at those of the "
      "training: about 1 of 100 test languages is among 40,000 training languages. Sequences that "
      "do not fill a batch at the end of an epoch are left out of that epoch.");
  results.add_difference(fmt::format(
      "Published beside 'GPT, learned' is the paper's transformer; it and the other baselines of "
      "table 3 are the benchmark's own implementations, with dropout of 0.1 on embeddings and, in "
      "the transformer, on attention weights. Ours: {:g}.",
      settings.dropout));
}

/// All that is trained; the smallest numbers of languages first. Throws UsageError on settings that
/// make no sense, before any training.
std::vector<Experiment> experiments_of(const StudyContext& context,
                                       const RegBenchSettings& settings) {
  settings.train.check();
  if (settings.trained_languages > 0)
    check_distinct("languages", settings.languages);
  else
    check_list("languages", settings.languages);
  check_list("search.layers", settings.search.layers);
  check_list("search.heads", settings.search.heads);
  check_list("search.channels", settings.search.channels);
  check_list("search.weight_decay", settings.search.weight_decay);
  const std::vector<Entry> models = chosen_by_name(entries(), settings.models);
  std::vector<Experiment> experiments;
  for (const int64_t languages : settings.languages)
    for (const Entry& model : models)
      experiments.push_back({model, languages, MeasuredOn::kNewLanguages});
  if (settings.trained_languages > 0)
    for (const Entry& model : models)
      experiments.push_back({model, settings.trained_languages, MeasuredOn::kTrainedLanguages});
  for (const Experiment& experiment : experiments)
    for (const Trial& trial : trials_of(experiment.entry, settings))
      trial_config(context, settings, experiment, trial).check();
  return experiments;
}

}  // namespace

void regbench(StudyContext& context) {
  const RegBenchSettings settings = context.settings(regbench_settings, {"task"});
  std::vector<RegBenchOutcome> outcomes;
  for (const Experiment& experiment : experiments_of(context, settings))
    outcomes.push_back(best_of_search(context, settings, experiment));

  StudyResults& results = context.results();
  if (const std::vector<Level> levels = levels_of(outcomes); !levels.empty()) {
    add_panel(outcomes, levels, results, "accuracy", "Next symbols of new languages", "accuracy",
              &PublishedScore::accuracy);
    add_panel(outcomes, levels, results, "distance", "Next-symbol distributions of new languages",
              "TVD", &PublishedScore::distance);
    results.add_table("new_languages", score_table(outcomes, true, "On languages drawn anew"));
    results.add_table("levels", level_table(levels));
  }
  if (settings.trained_languages > 0)
    results.add_table("trained_languages",
                      score_table(outcomes, false, "On new strings of the training languages"));
  results.add_table("networks", network_table(outcomes));
  add_comparisons(outcomes, results);
  add_regbench_differences(settings, results);
}

}  // namespace tessera::memory_mosaics_study
