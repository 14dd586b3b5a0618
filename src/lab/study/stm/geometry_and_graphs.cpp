// Table 3: convex hull, travelling salesman, shortest path and minimum spanning tree.

#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include "lab/study/stm/sequence_comparison.h"
#include "lab/study/stm/studies.h"
#include "lab/task/geometry/point_tasks.h"
#include "lab/task/graphs/graph_tasks.h"
#include "lab/task/sequence/task_kinds.h"

namespace tessera::stm_study {
namespace {

/// A closed way through the points, in the order of the answer.
Sketch sketch_of_points(const config::Json& sample) {
  Sketch sketch;
  for (const config::Json& point : sample.at("points"))
    sketch.points.push_back({point.at(0), point.at(1), std::to_string(sketch.points.size() + 1)});
  const auto answer = sample.at("answer").get<std::vector<size_t>>();
  for (size_t i = 0; i < answer.size(); ++i)
    sketch.lines.push_back({answer[i], answer[(i + 1) % answer.size()], "", /*is_marked=*/true});
  return sketch;
}

/// The edges of a path (a list of nodes) or of a tree (a list of edges), lower node first.
std::set<std::pair<size_t, size_t>> solution_of(const config::Json& answer) {
  std::set<std::pair<size_t, size_t>> edges;
  for (size_t i = 0; i < answer.size(); ++i) {
    if (answer[i].is_array())
      edges.insert(std::minmax(answer[i].at(0).get<size_t>(), answer[i].at(1).get<size_t>()));
    else if (i > 0)
      edges.insert(std::minmax(answer[i - 1].get<size_t>(), answer[i].get<size_t>()));
  }
  return edges;
}

Sketch sketch_of_graph(const config::Json& sample) {
  Sketch sketch;
  const auto nodes = sample.at("features").size();
  for (size_t node = 0; node < nodes; ++node) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(node) / static_cast<double>(nodes);
    sketch.points.push_back(
        {0.5 + 0.5 * std::sin(angle), 0.5 + 0.5 * std::cos(angle), std::to_string(node + 1)});
  }
  const auto solution = solution_of(sample.at("answer"));
  for (const config::Json& edge : sample.at("edges")) {
    const std::pair<size_t, size_t> ends =
        std::minmax(edge.at(0).get<size_t>(), edge.at(1).get<size_t>());
    sketch.lines.push_back({ends.first, ends.second, edge.at(2).dump(), solution.contains(ends)});
  }
  return sketch;
}

}  // namespace

Sketches solved_samples(const task::SequenceTask& task, uint64_t seed, int64_t count) {
  Sketches sketches("Samples and their solutions");
  for (int64_t index = 0; index < count; ++index) {
    const config::Json sample = task.describe(seed, index);
    Sketch sketch = sample.contains("points") ? sketch_of_points(sample) : sketch_of_graph(sample);
    sketch.name = fmt::format("sample {}", index);
    if (sample.contains("source"))
      sketch.name += fmt::format(": {} to {}", sample["source"].get<int64_t>() + 1,
                                 sample["destination"].get<int64_t>() + 1);
    sketches.add(std::move(sketch));
  }
  return sketches;
}

namespace {

/// Table 3 has baselines of more parameters than the sizes of appendix F: LSTM 4.5 million (1024
/// units, not 512), ALSTM 3.7, RMC 2.8 (here 2.6) and DNC 1.9.
template <typename Task>
ComparisonSettings<Task> paper_combinatorial() {
  ComparisonSettings<Task> settings;
  settings.models = {"STM", "LSTM", "ALSTM", "RMC", "DNC"};
  settings.baselines.lstm.hidden = 1024;
  settings.baselines.attentional_lstm.hidden = 720;
  settings.baselines.rmc.head_width = 64;
  settings.baselines.dnc.controller = 512;
  settings.data.training_samples = 100'000;
  settings.data.test_samples = 10'000;
  settings.train.steps = 100'000;
  return settings;
}

/// quick: sizes for --quick.
template <typename Task>
ComparisonSettings<Task> combinatorial_settings(StudyContext& context, const Task& quick,
                                                const ComparisonSettings<Task>& standard) {
  const auto paper = paper_combinatorial<Task>();
  return context.settings(shortest(paper, quick, 4'000), standard, paper, {"task"});
}

/// Accuracies of table 3, percent.
using PublishedScores = std::map<std::string, double>;

/// Trains, and shows samples. published, unlike: of what the contestants are measured on.
template <typename Task>
std::vector<TrainedContestant<task::TaskLearner>> compare_on_combinatorial(
    StudyContext& context, const std::string& task_name, const ComparisonSettings<Task>& settings,
    const PublishedScores& published = {}, const std::string& unlike = "") {
  auto models = compare_models(
      context, task_name, settings,
      beside_baselines(settings.baselines, {{"STM", model_table<Stm>(settings.stm)}}, published),
      unlike);
  constexpr int64_t kShown = 4;
  const auto task = task::task_kind(task_name).make(config::to_json(settings.task));
  context.results().add_chart(
      "samples", std::make_unique<Sketches>(solved_samples(*task, context.seed(), kShown)),
      "As figure 5: the ground truth is blue.");
  context.results().add_difference(
      "The table's models have 4.5 (LSTM), 3.7 (ALSTM), 2.8 (RMC), 1.9 (DNC) and 1.9 (STM) million "
      "parameters; ours stand beside the scores.");
  return models;
}

/// Right answers on a task over the trainings, percent. Throws Interrupted.
Spread accuracy_on(const task::SequenceTask& task,
                   const TrainedContestant<task::TaskLearner>& model, std::FILE* progress) {
  std::vector<double> found;
  try {
    for (const auto& training : model.trainings)
      found.push_back(100 * training.learner->test_on(task, progress).at("accuracy"));
  } catch (const Interrupted& missing) {
    throw Interrupted(fmt::format("stopped after the trainings; not measured: {}", missing.what()));
  }
  return spread_of(found);
}

/// Measures as table 3 does: what was trained on all numbers of points, on 5 and on 10 points
/// alone. published: by the number of points. unlike: why a published score of the same sizes is
/// not to be compared with ours, as Comparison has it.
template <typename Task>
void compare_on_points(StudyContext& context, const std::string& task_name,
                       const ComparisonSettings<Task>& settings,
                       const std::map<int64_t, PublishedScores>& published,
                       const std::string& unlike = "") {
  const auto models = compare_on_combinatorial(context, task_name, settings);
  const Task papers = {};
  const int64_t fewest = settings.task.min_points, most = settings.task.max_points;
  const std::string trained_on = fewest == most ? fmt::format("{} points", most)
                                                : fmt::format("{} to {} points", fewest, most);
  const bool as_published = fewest == papers.min_points && most == papers.max_points;
  for (const auto& [points, scores] : published) {
    if (points < fewest || points > most) continue;
    Task of_points = settings.task;
    of_points.min_points = of_points.max_points = points;
    const auto task = task::task_kind(task_name).make(config::to_json(of_points));
    for (const auto& model : models) {
      if (!scores.contains(model.name)) continue;
      const Spread found = accuracy_on(*task, model, context.progress());
      const std::string what = fmt::format("{}, {} points, right answers (%)", model.name, points);
      context.results().compare({.what = with_deviation(what, found, 2),
                                 .published = scores.at(model.name),
                                 .ours = found.mean,
                                 .digits = 4,
                                 .unlike = as_published ? unlike : "trained on " + trained_on});
    }
  }
  context.results().add_difference(
      "The paper names 100,000 training samples, and only for graphs; the authors' code has "
      "settings of 1,000,000 updates for this task. --paper takes 100,000 of both.");
  if (settings.task.coordinates != papers.coordinates)
    context.results().add_difference(
        "Coordinates are read with mean 0 and deviation 1; the paper's are in 0 to 1.");
  if (!as_published)
    context.results().add_difference(fmt::format("Trained on {}; the paper on {} to {}.",
                                                 trained_on, papers.min_points, papers.max_points));
}

task::GraphConfig small_graphs() {
  return {.max_nodes = 8, .max_edges = 12, .features = 16};
}

void compare_on_graphs(StudyContext& context, const std::string& task_name,
                       const ComparisonSettings<task::GraphConfig>& standard,
                       const PublishedScores& published) {
  const auto settings = combinatorial_settings(context, small_graphs(), standard);
  compare_on_combinatorial(context, task_name, settings, published, "metric not stated");
  context.results().add_difference(fmt::format(
      "Graphs of {} to {} nodes and at most {} edges; the paper has 5 to 20 nodes and 6 to 30 "
      "edges, leaves the encoding open, and does not say whether the padding of short answers "
      "counts as right.",
      settings.task.min_nodes, settings.task.max_nodes, settings.task.max_edges));
}

constexpr auto kStandard = task::PointCoordinates::kStandard;

/// A training of a wider STM that begins with `first` and within so many updates comes to `task`,
/// at a rate that falls.
template <typename Task>
ComparisonSettings<Task> growing(const Task& first, const Task& task, int64_t growing_steps,
                                 const TrainConfig& train) {
  auto settings = shortened(paper_combinatorial<Task>(), task, train.steps);
  settings.first_task = first;
  settings.data.growing_steps = growing_steps;
  settings.stm = short_training_stm(4, 64, {0, 0, 0});
  settings.stm.readout = 128;
  settings.train = train;
  return settings;
}

/// The same with all models of some 390,000 parameters, and batches of 32.
template <typename Task>
ComparisonSettings<Task> wider(const Task& first, const Task& task, int64_t growing_steps,
                               double learning_rate) {
  auto settings = growing(first, task, growing_steps, falling_training(8'000, learning_rate, 125));
  set_batch(32, settings.train, settings.data);
  settings.baselines = wider_baselines();
  return settings;
}

/// The same with memories of the paper's size, whose matrices are distilled to so narrow ones that
/// the two-memory model has no more parameters. It takes two and a half times as long.
template <typename Task>
ComparisonSettings<Task> larger_memories(ComparisonSettings<Task> settings) {
  settings.stm.slots = 8;
  settings.stm.width = 96;
  settings.stm.distilled = 16;
  settings.train.min_learning_rate = 1e-5;
  return settings;
}

/// Five points at first, in two batches an update: which way round they go is then learned within
/// some 2,000 updates, before there are more of them. The smaller memories of wider() end at 67 %
/// of the points, or at 71 % with three points at first; docs/papers.md has the commands.
ComparisonSettings<task::PointTaskConfig> growing_hulls() {
  auto settings = larger_memories(wider<task::PointTaskConfig>(
      {.min_points = 5, .max_points = 5, .most_points = 10},
      {.max_points = 10, .most_points = 10, .coordinates = kStandard}, 2'000, 4e-3));
  settings.train.batch /= 2;  // each with its own number of points
  settings.train.accumulation = 2;
  settings.baselines.batch = 32;
  settings.baselines.learning_rate = 5e-3;
  return settings;
}

/// Tours of three and four points at first. A two-memory model of width 32 in place of 64 names 75
/// % of the points, not 92 %, and this one in batches of 32 84 %. The LSTM learns in batches of 32
/// alone.
ComparisonSettings<task::TravellingSalesmanConfig> growing_tours(
    const task::TravellingSalesmanConfig& task) {
  auto settings = growing<task::TravellingSalesmanConfig>(
      {{.min_points = 3, .max_points = 3, .most_points = task.most_points}}, task, 2'000,
      falling_training(8'000, 3e-3, 200));
  settings.baselines = wider_baselines();
  settings.baselines.batch = 32;
  settings.baselines.learning_rate = 5e-3;
  return settings;
}

/// Graphs of three nodes at first. Where the factors alpha begin at 0, 0.5 and 0.5, shortest paths
/// are learned more slowly; at a constant rate of 1e-3, with all sizes from the start and 83,000
/// parameters, training ends with 67 % of the nodes right.
ComparisonSettings<task::GraphConfig> growing_graphs(int64_t growing_steps, double learning_rate) {
  return wider<task::GraphConfig>(
      {.min_nodes = 3, .max_nodes = 3, .min_edges = 2, .max_edges = 3, .features = 16},
      small_graphs(), growing_steps, learning_rate);
}

}  // namespace

void convex_hull(StudyContext& context) {
  const task::PointTaskConfig small = {
      .min_points = 5, .max_points = 5, .most_points = 5, .coordinates = kStandard};
  compare_on_points(
      context, "convex-hull", combinatorial_settings(context, small, growing_hulls()),
      {{5, {{"LSTM", 89.15}, {"ALSTM", 89.92}, {"DNC", 89.42}, {"RMC", 93.72}, {"STM", 96.85}}},
       {10, {{"LSTM", 82.24}, {"ALSTM", 85.22}, {"DNC", 79.47}, {"RMC", 81.23}, {"STM", 91.88}}}});
}

void travelling_salesman(StudyContext& context) {
  const task::TravellingSalesmanConfig small = {
      {.min_points = 5, .max_points = 5, .most_points = 5, .coordinates = kStandard}};
  compare_on_points(
      context, "travelling-salesman", combinatorial_settings(context, small, growing_tours(small)),
      {{5, {{"LSTM", 73.15}, {"ALSTM", 71.79}, {"DNC", 73.24}, {"RMC", 72.83}, {"STM", 73.96}}},
       {10, {{"LSTM", 62.13}, {"ALSTM", 55.51}, {"DNC", 61.53}, {"RMC", 37.93}, {"STM", 69.43}}}},
      "either direction");
  context.results().add_difference(
      "A tour has one direction here; the published tours go in either, which no model can know.");
  context.results().add_difference(
      "Lengths of the named tours, which the table also has, are not measured.");
}

void shortest_path(StudyContext& context) {
  auto standard = growing_graphs(3'000, 2e-3);
  standard.baselines.learning_rate = 5e-3;
  compare_on_graphs(
      context, "shortest-path", standard,
      {{"LSTM", 72.38}, {"ALSTM", 76.70}, {"DNC", 83.59}, {"RMC", 66.71}, {"STM", 93.43}});
}

void spanning_tree(StudyContext& context) {
  compare_on_graphs(
      context, "spanning-tree", larger_memories(growing_graphs(2'000, 5e-3)),
      {{"LSTM", 80.11}, {"ALSTM", 73.40}, {"DNC", 82.24}, {"RMC", 74.98}, {"STM", 94.77}});
}

}  // namespace tessera::stm_study
