// Figure 9 and table 3: learning random languages in context (RegBench).

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "lab/study/comparison.h"
#include "lab/study/memory_mosaics/regbench_outcome.h"
#include "lab/study/memory_mosaics/studies.h"
#include "tessera/base/error.h"

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
    field("weight_decay", weight_decay, "of AdamW");
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

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("task", task, "the random languages");
    field("models", models, "which are trained, by their names in the table of results");
    field("languages", languages, "numbers of training languages, measured on new languages");
    field("trained_languages", trained_languages,
          "training languages that are measured on new strings of the same (0: leave out)");
    field("held_out", held_out, "validation sequences, and as many test sequences");
    field("search", search, "what is tried for every model and number of languages");
    field("dropout", dropout, "probability, in all models");
    field("epochs", epochs, "how often each training sequence is read", config::at_least(1));
    field("most_updates", most_updates, "of one training (0: as many as the epochs have)");
    field("evaluations", evaluations, "of one training; the best weights are kept",
          config::at_least(1));
    field("train", train, "how every model is trained; steps and warm-up follow from the epochs");
  }
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

RegBenchSettings paper_regbench() {
  RegBenchSettings settings;
  for (const Entry& entry : entries()) settings.models.push_back(entry.name);
  settings.languages = {100, 500, 1000, 2500, 40000};
  settings.search = {{2, 4, 8}, {2, 4, 8}, {64, 128, 256}, {0.01, 0.1}};
  return settings;
}

/// Half the length, one size of network, and a learning rate for few updates.
RegBenchSettings default_regbench() {
  RegBenchSettings settings = paper_regbench();
  settings.task.max_length = 24;
  settings.languages = {100, 1000};
  settings.search = {{2}, {4, 8}, {64}, {0.1}};
  settings.most_updates = 400;
  settings.train.learning_rate = 2e-3;
  settings.train.min_learning_rate = 2e-4;
  return settings;
}

RegBenchSettings quick_regbench() {
  RegBenchSettings settings = default_regbench();
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
  const bool has_heads = entry.model.at("kind") != "lstm";
  std::vector<Trial> trials;
  for (const int64_t layers : settings.search.layers)
    for (const int64_t heads : settings.search.heads)
      for (const int64_t channels : settings.search.channels)
        for (const double weight_decay : settings.search.weight_decay) {
          Trial trial{entry.model, weight_decay};
          trial.model["layers"] = layers;
          trial.model["channels"] = channels;
          trial.model["dropout"] = settings.dropout;
          if (has_heads) trial.model["heads"] = heads;
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
  train.steps = settings.epochs * (languages / train.batch);
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
  return fmt::format("{}-{}/{}/{}-layers-{}{}-wide-decay-{:g}", config.data.languages,
                     config::enum_name(config.data.measured_on), folder_name(name),
                     model.at("layers").dump(),
                     model.contains("heads") ? model.at("heads").dump() + "-heads-" : "",
                     model.at("channels").dump(), config.train.weight_decay);
}

RegBenchOutcome best_of_search(StudyContext& context, const RegBenchSettings& settings,
                               const Experiment& experiment) {
  const auto& [entry, languages, measured_on] = experiment;
  std::optional<RegBenchOutcome> best;
  const std::vector<Trial> trials = trials_of(entry, settings);
  for (const Trial& trial : trials) {
    auto config = trial_config(context, settings, experiment, trial);
    const Contestant contestant{.name = fmt::format("{}, {} languages", entry.name, languages),
                                .folder = folder_of(config, entry.name)};
    auto training = train_alone(context, std::make_shared<RegBenchLearner>(config), contestant);
    if (!best || training.trained.validation_loss() < best->training.trained.validation_loss())
      best = RegBenchOutcome{
          entry.name, std::move(config), std::move(training), std::ssize(trials), {}};
  }
  if (measured_on == MeasuredOn::kTrainedLanguages)
    best->published = entry.trained_languages;
  else if (const auto found = entry.new_languages.find(languages);
           found != entry.new_languages.end())
    best->published = found->second;
  return std::move(*best);
}

void add_regbench_differences(const RegBenchSettings& settings, StudyResults& results) {
  const task::RegBenchConfig& task = settings.task;
  const RegBenchSettings paper = paper_regbench();
  if (config::to_json(task) != config::to_json(paper.task))
    results.add_difference(fmt::format(
        "Sequences of {} to {} strings of {} to {} symbols; the paper has 10 to 19 of 1 to 49.",
        task.min_strings, task.max_strings, task.min_length, task.max_length));
  if (settings.most_updates > 0)
    results.add_difference(fmt::format(
        "At most {} updates a training, at a rate of up to {:g}; the paper reads its training "
        "sequences 200 times (600 updates for 100 languages, 250,000 for 40,000), at up to 5e-4.",
        settings.most_updates, settings.train.learning_rate));
  if (const Search& search = settings.search;
      config::to_json(search) != config::to_json(paper.search))
    results.add_difference(fmt::format(
        "Tried: {} layers, {} heads, {} channels, weight decay {}; the paper tries 2, 4, 8 layers, "
        "2, 4, 8 heads, 64, 128, 256 channels, weight decay 0.01, 0.1, in every combination.",
        fmt::join(search.layers, ", "), fmt::join(search.heads, ", "),
        fmt::join(search.channels, ", "), fmt::join(search.weight_decay, ", ")));
  results.add_difference(
      "The languages are drawn by our generator. Sequences that do not fill a batch at the end of "
      "an epoch wait for the next one.");
  results.add_difference(
      "Published beside 'GPT, learned' is the paper's transformer; it and the other baselines of "
      "table 3 are the benchmark's own implementations.");
}

/// All that is trained; the smallest numbers of languages first. Throws UsageError on settings that
/// make no sense, before any training.
std::vector<Experiment> experiments_of(const StudyContext& context,
                                       const RegBenchSettings& settings) {
  settings.train.check();
  check_not_empty("search.layers", settings.search.layers);
  check_not_empty("search.heads", settings.search.heads);
  check_not_empty("search.channels", settings.search.channels);
  check_not_empty("search.weight_decay", settings.search.weight_decay);
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

void run_regbench(StudyContext& context) {
  const RegBenchSettings settings =
      context.settings(quick_regbench(), default_regbench(), paper_regbench(), {"task"});
  std::vector<RegBenchOutcome> outcomes;
  for (const Experiment& experiment : experiments_of(context, settings))
    outcomes.push_back(best_of_search(context, settings, experiment));
  add_regbench_outcomes(outcomes, context.results());
  add_regbench_differences(settings, context.results());
}

}  // namespace

Study regbench() {
  return {.id = "memory-mosaics/regbench",
          .title = "Learning random languages in context",
          .paper = kPaper,
          .figure = "figure 9, table 3",
          .cost = {.quick = took(216), .standard = took(2330)},
          .run = run_regbench};
}

}  // namespace tessera::memory_mosaics_study
