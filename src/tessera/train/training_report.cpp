#include "tessera/train/training_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tessera/report/line_chart.h"
#include "tessera/train/metrics_log.h"

namespace tessera {
namespace {

/// The metric of each evaluation of a run that measured it, by step.
std::map<int64_t, double> evaluations(const Trained& run, const ShownMetric& metric) {
  std::map<int64_t, double> values;
  for (const auto& [step, metrics] : logged_evaluations(run.folder))
    if (const auto found = metrics.find(metric.name); found != metrics.end())
      values[step] = metric.factor * found->second;
  return values;
}

/// Mean and deviation over the runs, which one run does not have, at every step at which one of
/// them was evaluated. unit: what one step counts as.
Series learning_curve(const TrainedRuns& learner, const ShownMetric& metric, int64_t unit) {
  std::vector<std::map<int64_t, double>> curves;
  std::set<int64_t> steps;
  for (const Trained& run : learner.runs) {
    curves.push_back(evaluations(run, metric));
    for (const auto& [step, value] : curves.back()) steps.insert(step);
  }
  Series series{learner.name, {}, SeriesStyle::kLine};
  for (const int64_t step : steps) {
    std::vector<double> values;
    for (const auto& curve : curves)
      if (const auto after = curve.upper_bound(step); after != curve.begin())
        values.push_back(std::prev(after)->second);
    const Spread spread = spread_of(values);
    series.points.push_back({static_cast<double>(step * unit), spread.mean,
                             spread.runs > 1 ? spread.deviation : ResultPoint::kNone});
  }
  return series;
}

std::unique_ptr<LineChart> curves_chart(const std::vector<TrainedRuns>& learners,
                                        const ShownMetric& metric,
                                        const std::vector<TrivialScore>& trivial,
                                        const std::string& prefix, StudyResults& results) {
  const bool same_batch = std::ranges::all_of(learners, [&](const TrainedRuns& learner) {
    return learner.batch == learners.front().batch;
  });
  auto chart =
      std::make_unique<LineChart>("On samples that training has not seen",
                                  Axis{same_batch ? "updates" : "sequences"}, Axis{metric.label});
  double last_step = 1;
  for (const TrainedRuns& learner : learners) {
    Series series = learning_curve(learner, metric, same_batch ? 1 : learner.batch);
    for (const auto& point : series.points) {
      results.add_point({prefix + learner.name, point.x, point.y, point.spread});
      last_step = std::max(last_step, point.x);
    }
    chart->add(std::move(series));
  }
  for (const auto& [strategy, value] : trivial)
    chart->add({strategy, {{0, value}, {last_step, value}}, SeriesStyle::kReference});
  return chart;
}

/// What a chart of learning curves needs to be read.
std::string curves_caption(bool several, size_t trivial) {
  std::string caption;
  if (several)
    caption = "Lines: means over the trainings; bands: their standard deviation (n - 1).";
  if (trivial > 0)
    caption += fmt::format("{}{}: simple strategies, without any learning.", several ? " " : "",
                           trivial > 1 ? "Dashed or dotted" : "Dashed");
  return caption;
}

bool has_several_runs(const std::vector<TrainedRuns>& learners) {
  return std::ranges::any_of(learners,
                             [](const TrainedRuns& learner) { return learner.runs.size() > 1; });
}

/// Means over the runs, of the first metric with its deviation where there are several.
Table scores_table(const std::vector<TrainedRuns>& learners,
                   const std::vector<ShownMetric>& shown) {
  const bool several = has_several_runs(learners);
  std::vector<std::string> columns = {"model", "parameters"};
  if (several) columns.push_back("runs");
  columns.insert(columns.end(), {"updates", several ? "minutes of a run" : "minutes"});
  columns.push_back(shown.front().label);
  if (several) columns.push_back("deviation");
  for (size_t i = 1; i < shown.size(); ++i) columns.push_back(shown[i].label);
  Table table("After training", columns);
  for (const TrainedRuns& learner : learners) {
    std::vector<double> steps, minutes;
    for (const Trained& run : learner.runs) {
      steps.push_back(static_cast<double>(run.steps));
      minutes.push_back(run.seconds / 60);
    }
    const Spread score = learner.score(shown.front());
    const auto decimals = shown.front().decimals;
    std::vector<Cell> row = {learner.name, learner.parameters};
    if (several) row.push_back(std::ssize(learner.runs));
    row.push_back(Cell::fixed(spread_of(steps).mean, 0));
    row.push_back(Cell::fixed(spread_of(minutes).mean, 1));
    row.push_back(Cell::fixed(score.mean, decimals));
    if (several)
      row.push_back(learner.runs.size() > 1 ? Cell::fixed(score.deviation, decimals) : "");
    for (size_t i = 1; i < shown.size(); ++i)
      row.push_back(Cell::fixed(learner.score(shown[i]).mean, shown[i].decimals));
    table.add_row(std::move(row));
  }
  return table;
}

}  // namespace

Spread TrainedRuns::score(const ShownMetric& metric) const {
  std::vector<double> scores;
  for (const Trained& run : runs) {
    const Metrics& metrics = run.test.empty() ? run.validation : run.test;
    const auto found = metrics.find(metric.name);
    scores.push_back(found == metrics.end() ? NAN : metric.factor * found->second);
  }
  return spread_of(scores);
}

std::optional<int64_t> updates_until(const Trained& run, const ShownMetric& metric, double value) {
  for (const auto& [step, found] : evaluations(run, metric))
    if (found >= value) return step;
  return {};
}

void add_missing(const std::string& name, const Trained& run, StudyResults& results) {
  if (!run.missing.empty())
    results.add_text(name + ": not measured, because a signal ended the program",
                     fmt::format("{}", fmt::join(run.missing, ", ")));
}

void add_training_results(const std::vector<TrainedRuns>& learners,
                          const std::vector<ShownMetric>& shown,
                          const std::vector<TrivialScore>& trivial, StudyResults& results,
                          const std::string& prefix) {
  results.add_chart(prefix + "learning",
                    curves_chart(learners, shown.front(), trivial, prefix, results),
                    curves_caption(has_several_runs(learners), trivial.size()));
  results.add_table(prefix + "scores", scores_table(learners, shown));
  for (const TrainedRuns& learner : learners)
    for (const Trained& run : learner.runs) add_missing(learner.name, run, results);
  if (trivial.empty()) return;
  Table table("Simple strategies, without any learning", {"strategy", shown.front().label});
  for (const auto& [strategy, value] : trivial)
    table.add_row({strategy, Cell::fixed(value, shown.front().decimals)});
  results.add_table(prefix + "levels", std::move(table));
}

}  // namespace tessera
