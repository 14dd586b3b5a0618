#include "lab/study/memory_mosaics/regbench_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/learner/regbench/context_counts.h"
#include "tessera/report/line_chart.h"

namespace tessera::memory_mosaics_study {
namespace {

using config::Json;

void compare_score(StudyResults& results, const std::string& what, double published, double ours) {
  if (!std::isnan(published)) results.compare({.what = what, .published = published, .ours = ours});
}

void add_comparisons(const std::vector<RegBenchOutcome>& outcomes, StudyResults& results) {
  for (const RegBenchOutcome& outcome : outcomes) {
    const std::string where =
        fmt::format("{}, {} languages{}", outcome.name, outcome.config.data.languages,
                    outcome.is_on_new_languages() ? "" : ", new strings of the same");
    const Metrics& test = outcome.training.trained.test;
    compare_score(results, where + ": accuracy", outcome.published.accuracy, test.at("accuracy"));
    compare_score(results, where + ": TVD", outcome.published.distance, test.at("distance"));
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
         Cell::fixed(trained.test.at("distance"), 3), Cell::fixed(trained.validation_loss(), 3),
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
  auto chart = std::make_unique<LineChart>(title, Axis{"training languages", Scale::kLog},
                                           Axis{label, Scale::kLinear, 0.0, 1.0});
  double first = INFINITY, last = 0;
  std::vector<std::string> names;
  for (const RegBenchOutcome& outcome : outcomes)
    if (std::find(names.begin(), names.end(), outcome.name) == names.end())
      names.push_back(outcome.name);
  for (const std::string& name : names) {
    Series ours{name, {}, SeriesStyle::kLine}, theirs{name, {}, SeriesStyle::kPublished};
    for (const RegBenchOutcome& outcome : outcomes) {
      if (outcome.name != name || !outcome.is_on_new_languages()) continue;
      const auto languages = static_cast<double>(outcome.config.data.languages);
      first = std::min(first, languages);
      last = std::max(last, languages);
      const double value = outcome.training.trained.test.at(metric);
      const double paper = outcome.published.*published;
      results.add_point({.series = fmt::format("{}, {}", name, label),
                         .x = languages,
                         .y = value,
                         .published = paper});
      ours.points.push_back({languages, value});
      if (!std::isnan(paper)) theirs.points.push_back({languages, paper});
    }
    chart->add(std::move(ours));
    if (!theirs.points.empty()) chart->add(std::move(theirs));
  }
  for (const Level& level : levels) {
    const double value = level.score.at(metric);
    chart->add({level.name, {{first, value}, {last, value}}, SeriesStyle::kReference});
  }
  results.add_chart(metric, std::move(chart),
                    "Hollow: as published, read off the figure. Dashed: who only counts what "
                    "followed the last symbols in the sequence itself.");
}

}  // namespace

void add_regbench_outcomes(const std::vector<RegBenchOutcome>& outcomes, StudyResults& results) {
  const std::vector<Level> levels = levels_of(outcomes);
  add_panel(outcomes, levels, results, "accuracy", "Next symbols of new languages", "accuracy",
            &PublishedScore::accuracy);
  add_panel(outcomes, levels, results, "distance", "Next-symbol distributions of new languages",
            "TVD", &PublishedScore::distance);
  results.add_table("new_languages",
                    score_table(outcomes, true, "On languages not seen in training"));
  if (!levels.empty()) results.add_table("levels", level_table(levels));
  if (!std::all_of(outcomes.begin(), outcomes.end(),
                   [](const auto& outcome) { return outcome.is_on_new_languages(); }))
    results.add_table("trained_languages",
                      score_table(outcomes, false, "On new strings of the training languages"));
  results.add_table("networks", network_table(outcomes));
  add_comparisons(outcomes, results);
}

}  // namespace tessera::memory_mosaics_study
