#include "lab/task/sequence/training_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/report/line_chart.h"
#include "tessera/train/metrics_log.h"

namespace tessera::task {
namespace {

constexpr double kPercent = 100;

MeanScore mean_of(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  MeanScore score;
  for (double value : values) score.mean += value / n;
  for (double value : values) score.deviation += (value - score.mean) * (value - score.mean);
  score.deviation = n > 1 ? std::sqrt(score.deviation / (n - 1)) : 0;
  return score;
}

double score_of(const TaskScore& score, TargetKind kind) {
  switch (kind) {
    case TargetKind::kBits:
      return score.wrong_per_sequence();
    case TargetKind::kClasses:
      return kPercent * score.accuracy();
    case TargetKind::kVectors:
      return score.mean_absolute_error();
  }
  return NAN;
}

/// The same of an evaluation in metrics.jsonl.
double score_of(const config::Json& metrics, TargetKind kind) {
  switch (kind) {
    case TargetKind::kBits:
      return metrics.at("wrong_per_sequence").get<double>();
    case TargetKind::kClasses:
      return kPercent * metrics.at("accuracy").get<double>();
    case TargetKind::kVectors:
      return metrics.at("mean_absolute_error").get<double>();
  }
  return NAN;
}

/// Of the metric in tables.
int decimals(TargetKind kind) {
  return kind == TargetKind::kVectors ? 4 : 2;
}

/// The metric of each evaluation of a run, by step.
std::map<int64_t, double> evaluations(const std::filesystem::path& folder, TargetKind kind) {
  std::map<int64_t, double> values;
  for (const auto& line : MetricsLog::read(folder / "metrics.jsonl")) {
    if (line.at("kind") != "evaluation") continue;
    values[line.at("step").get<int64_t>()] = score_of(line.at("metrics"), kind);
  }
  return values;
}

/// Mean and deviation over the runs at every step at which one of them was evaluated.
Series learning_curve(const TrainedRuns& model, TargetKind kind) {
  std::vector<std::map<int64_t, double>> curves;
  std::set<int64_t> steps;
  for (const auto& run : model.runs) {
    curves.push_back(evaluations(run.folder, kind));
    for (const auto& [step, value] : curves.back()) steps.insert(step);
  }
  Series series{model.name, {}, SeriesStyle::kLine};
  for (const int64_t step : steps) {
    std::vector<double> values;
    for (const auto& curve : curves)
      if (const auto after = curve.upper_bound(step); after != curve.begin())
        values.push_back(std::prev(after)->second);
    const auto [mean, deviation] = mean_of(values);
    series.points.push_back({static_cast<double>(step), mean, deviation});
  }
  return series;
}

/// The level in the unit of the metric.
double level_value(const Level& level) {
  return level.metric == "accuracy" ? kPercent * level.value : level.value;
}

std::unique_ptr<LineChart> curves_chart(const std::vector<TrainedRuns>& models,
                                        const SequenceTask& task, const std::string& prefix,
                                        StudyResults& results) {
  const TargetKind kind = task.shape().targets;
  auto chart = std::make_unique<LineChart>("On samples that training has not seen", Axis{"updates"},
                                           Axis{metric_name(kind)});
  double last_step = 1;
  for (const auto& model : models) {
    Series series = learning_curve(model, kind);
    for (const auto& point : series.points) {
      results.add_point({prefix + model.name, point.x, point.y, point.spread});
      last_step = std::max(last_step, point.x);
    }
    chart->add(std::move(series));
  }
  for (const Level& level : task.levels())
    chart->add({level.strategy,
                {{0, level_value(level)}, {last_step, level_value(level)}},
                SeriesStyle::kReference});
  return chart;
}

Table scores_table(const std::vector<TrainedRuns>& models, TargetKind kind) {
  Table table("After training", {"model", "parameters", "runs", "updates", "minutes of a run",
                                 metric_name(kind), "deviation", "faultless sequences (%)"});
  for (const auto& model : models) {
    std::vector<double> steps, minutes, faultless;
    for (const auto& run : model.runs) {
      steps.push_back(static_cast<double>(run.steps));
      minutes.push_back(run.seconds / 60);
      faultless.push_back(kPercent * run.test.perfect_share());
    }
    const auto [mean, deviation] = model.test_score(kind);
    table.add_row({model.name, model.runs.front().model->parameter_count(), std::ssize(model.runs),
                   Cell::fixed(mean_of(steps).mean, 0), Cell::fixed(mean_of(minutes).mean, 1),
                   Cell::fixed(mean, decimals(kind)), Cell::fixed(deviation, decimals(kind)),
                   Cell::fixed(mean_of(faultless).mean, 2)});
  }
  return table;
}

}  // namespace

std::string metric_name(TargetKind kind) {
  switch (kind) {
    case TargetKind::kBits:
      return "wrong bits per sequence";
    case TargetKind::kClasses:
      return "right answers (%)";
    case TargetKind::kVectors:
      return "mean absolute error";
  }
  return "";
}

MeanScore TrainedRuns::test_score(TargetKind kind) const {
  std::vector<double> scores;
  for (const auto& run : runs) scores.push_back(score_of(run.test, kind));
  return mean_of(scores);
}

std::optional<int64_t> updates_until(const TrainedOnTask& run, double accuracy) {
  for (const auto& [step, value] : evaluations(run.folder, TargetKind::kClasses))
    if (value >= accuracy) return step;
  return {};
}

void add_task_results(const std::vector<TrainedRuns>& models, const SequenceTask& task,
                      StudyResults& results, const std::string& prefix) {
  results.add_chart(prefix + "learning", curves_chart(models, task, prefix, results),
                    "Dashed: what somebody reaches who does not solve the task.");
  results.add_table(prefix + "scores", scores_table(models, task.shape().targets));
  Table levels("Without solving the task", {"strategy", metric_name(task.shape().targets)});
  for (const Level& level : task.levels())
    levels.add_row(
        {level.strategy, Cell::fixed(level_value(level), decimals(task.shape().targets))});
  results.add_table(prefix + "levels", std::move(levels));
}

}  // namespace tessera::task
