// Table 3: convex hull, travelling salesman, shortest path and minimum spanning tree.

#include "lab/study/stm/sequence_comparison.h"
#include "lab/study/stm/solved_samples.h"
#include "lab/study/stm/studies.h"
#include "lab/task/geometry/convex_hull_task.h"
#include "lab/task/geometry/tour_score.h"
#include "lab/task/geometry/travelling_salesman.h"
#include "lab/task/graphs/graph_tasks.h"
#include "lab/task/sequence/task_kinds.h"

namespace tessera::stm_study {
namespace {

template <typename Task>
ComparisonSettings<Task> paper_combinatorial() {
  ComparisonSettings<Task> settings;
  settings.models = {"STM", "LSTM", "ALSTM", "RMC", "DNC"};
  settings.baselines.lstm.hidden = 1024;
  settings.data.training_samples = 100'000;
  settings.data.test_samples = 10'000;
  settings.train.steps = 100'000;
  return settings;
}

template <typename Task>
ComparisonSettings<Task> reduced_combinatorial(const Task& task, int64_t steps,
                                               int64_t batch = 128) {
  ComparisonSettings<Task> settings = shortened(paper_combinatorial<Task>(), steps, batch);
  settings.task = task;
  return settings;
}

template <typename Task>
ComparisonSettings<Task> quick_combinatorial(const Task& task) {
  ComparisonSettings<Task> settings = reduced_combinatorial(task, 4'000, 32);
  settings.models = {"STM", "LSTM"};
  return settings;
}

/// Accuracies of table 3, percent.
using PublishedScores = std::map<std::string, double>;

template <typename Task>
void compare_on_combinatorial(StudyContext& context, const std::string& task_name,
                              const ComparisonSettings<Task>& settings,
                              const PublishedScores& published) {
  std::vector<Contestant> contestants = baseline_contestants(settings.baselines);
  contestants.push_back({"STM", model_table<Stm>(settings.stm)});
  compare_models(context, task_name, settings, with_published(std::move(contestants), published));
  constexpr int64_t kShown = 4;
  const auto task = task::make_task(task_name, config::to_json(settings.task));
  context.results().add_chart(
      "samples", std::make_unique<Sketches>(solved_samples(*task, context.seed(), kShown)),
      "As figure 5: the ground truth is blue.");
}

task::GraphConfig small_graphs() {
  return {.max_nodes = 8, .max_edges = 12, .features = 16};
}

void run_convex_hull(StudyContext& context) {
  using task::ConvexHullConfig;
  const ConvexHullConfig small = {.min_points = 5, .max_points = 5, .most_points = 5};
  const auto settings = context.settings(
      quick_combinatorial<ConvexHullConfig>(small),
      reduced_combinatorial<ConvexHullConfig>({.max_points = 10, .most_points = 10}, 8'000),
      paper_combinatorial<ConvexHullConfig>(), {"task"});
  compare_on_combinatorial(
      context, "convex-hull", settings,
      {{"LSTM", 89.15}, {"ALSTM", 89.92}, {"DNC", 89.42}, {"RMC", 93.72}, {"STM", 96.85}});
  context.results().add_difference(
      fmt::format("Trained and measured on {} to {} points; the paper trains on 5 to 20 and its "
                  "published numbers here are those for 5.",
                  settings.task.min_points, settings.task.max_points));
}

}  // namespace

Study convex_hull() {
  return {.id = "stm/convex-hull",
          .title = "Naming the corners of points' convex hull",
          .paper = kPaper,
          .figure = "table 3",
          .cost = {.quick = took(26), .standard = about(2200)},
          .run = run_convex_hull};
}

namespace {

void run_travelling_salesman(StudyContext& context) {
  using task::TravellingSalesmanConfig;
  const TravellingSalesmanConfig small = {.min_points = 5, .max_points = 5, .most_points = 5};
  const auto settings =
      context.settings(quick_combinatorial<TravellingSalesmanConfig>(small),
                       reduced_combinatorial<TravellingSalesmanConfig>(small, 8'000),
                       paper_combinatorial<TravellingSalesmanConfig>(), {"task"});
  compare_on_combinatorial(
      context, "travelling-salesman", settings,
      {{"LSTM", 73.15}, {"ALSTM", 71.79}, {"DNC", 73.24}, {"RMC", 72.83}, {"STM", 73.96}});
  context.results().add_difference(
      fmt::format("{} to {} points, and the direction of a tour is fixed; the published numbers "
                  "are those for 5 points, with tours in either direction.",
                  settings.task.min_points, settings.task.max_points));
}

}  // namespace

Study travelling_salesman() {
  return {.id = "stm/travelling-salesman",
          .title = "Naming points in the order of their shortest tour",
          .paper = kPaper,
          .figure = "table 3",
          .cost = {.quick = took(25), .standard = about(1400)},
          .run = run_travelling_salesman};
}

namespace {

void run_shortest_path(StudyContext& context) {
  using task::GraphConfig;
  const auto settings = context.settings(quick_combinatorial(small_graphs()),
                                         reduced_combinatorial(small_graphs(), 8'000),
                                         paper_combinatorial<GraphConfig>(), {"task"});
  compare_on_combinatorial(
      context, "shortest-path", settings,
      {{"LSTM", 72.38}, {"ALSTM", 76.70}, {"DNC", 83.59}, {"RMC", 66.71}, {"STM", 93.43}});
  context.results().add_difference(fmt::format(
      "Graphs of {} to {} nodes and at most {} edges; the paper has 5 to 20 nodes and 6 to 30 "
      "edges, and leaves the encoding open.",
      settings.task.min_nodes, settings.task.max_nodes, settings.task.max_edges));
}

}  // namespace

Study shortest_path() {
  return {.id = "stm/shortest-path",
          .title = "Naming the nodes of the shortest path",
          .paper = kPaper,
          .figure = "table 3, figure 6",
          .cost = {.quick = took(130), .standard = about(2400)},
          .run = run_shortest_path};
}

namespace {

void run_spanning_tree(StudyContext& context) {
  using task::GraphConfig;
  const auto settings = context.settings(quick_combinatorial(small_graphs()),
                                         reduced_combinatorial(small_graphs(), 8'000),
                                         paper_combinatorial<GraphConfig>(), {"task"});
  compare_on_combinatorial(
      context, "spanning-tree", settings,
      {{"LSTM", 80.11}, {"ALSTM", 73.40}, {"DNC", 82.24}, {"RMC", 74.98}, {"STM", 94.77}});
  context.results().add_difference(fmt::format(
      "Graphs of {} to {} nodes and at most {} edges; the paper has 5 to 20 nodes and 6 to 30 "
      "edges, and leaves the encoding open.",
      settings.task.min_nodes, settings.task.max_nodes, settings.task.max_edges));
}

}  // namespace

Study spanning_tree() {
  return {.id = "stm/spanning-tree",
          .title = "Naming the edges of the minimum spanning tree",
          .paper = kPaper,
          .figure = "table 3, figure 6",
          .cost = {.quick = took(178), .standard = about(2400)},
          .run = run_spanning_tree};
}

}  // namespace tessera::stm_study
