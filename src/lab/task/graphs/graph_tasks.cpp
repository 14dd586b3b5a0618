#include "lab/task/graphs/graph_tasks.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/draws.h"

namespace tessera::task {
namespace {

constexpr int64_t kLevelSamples = 1000;

/// Both nodes of each edge in turn.
std::vector<int64_t> nodes_of(std::span<const Edge> edges) {
  std::vector<int64_t> nodes;
  for (const Edge& edge : edges) nodes.insert(nodes.end(), {edge.u, edge.v});
  return nodes;
}

std::vector<int64_t> ends_of(const NamedGraph& named) {
  return {named.source, named.destination};
}

/// From source to destination without looking further than the source's edges: the direct one, else
/// by way of the nearest neighbour.
std::vector<int64_t> path_by_first_edges(const NamedGraph& named) {
  const Edge* lightest = nullptr;
  for (const Edge& edge : named.graph.edges) {
    if (edge.u != named.source && edge.v != named.source) continue;
    if (edge.u == named.destination || edge.v == named.destination) return ends_of(named);
    if (lightest == nullptr || edge.weight < lightest->weight) lightest = &edge;
  }
  return {named.source, lightest->u == named.source ? lightest->v : lightest->u, named.destination};
}

/// The shortest path of one or two edges; where there is none, path_by_first_edges().
std::vector<int64_t> path_of_two_edges(const NamedGraph& named) {
  constexpr int64_t kNoEdge = std::numeric_limits<int64_t>::max() / 2;
  std::vector<int64_t> from(named.graph.nodes, kNoEdge), to = from;  // weights of the ends' edges
  to[named.destination] = 0;
  for (const Edge& edge : named.graph.edges)
    for (const auto& [one, other] : {std::pair(edge.u, edge.v), std::pair(edge.v, edge.u)}) {
      if (one == named.source) from[other] = edge.weight;
      if (one == named.destination) to[other] = edge.weight;
    }
  std::vector<int64_t> path = path_by_first_edges(named);
  int64_t shortest = kNoEdge;
  for (int64_t node = 0; node < named.graph.nodes; ++node) {
    if (from[node] + to[node] >= shortest) continue;
    shortest = from[node] + to[node];
    path = node == named.destination ? ends_of(named)
                                     : std::vector{named.source, node, named.destination};
  }
  return path;
}

/// The nodes of as many of the lightest edges as a tree has.
std::vector<int64_t> lightest_edges(const NamedGraph& named) {
  const std::vector<Edge> edges = edges_by_weight(named.graph);
  return nodes_of(std::span(edges).first(named.graph.nodes - 1));
}

/// Steps at which two answers agree, both followed by the end.
int64_t agreement(std::vector<int64_t> answer, std::vector<int64_t> truth) {
  constexpr int64_t kEnd = -1;
  truth.push_back(kEnd);
  answer.push_back(kEnd);
  int64_t equal = 0;
  for (size_t i = 0; i < std::min(answer.size(), truth.size()); ++i)
    equal += answer[i] == truth[i] ? 1 : 0;
  return equal;
}

}  // namespace

GraphTask::GraphTask(const GraphConfig& config) : ConfiguredTask(config) {
  check_range(config.max_nodes, 2, config.features, "task.max_nodes");
  check_range(config.min_nodes, 2, config.max_nodes, "task.min_nodes");
  check_range(config.min_edges, 1, config.max_edges, "task.min_edges");
}

TaskShape GraphTask::shape() const {
  return {.input_width = 2 * config_.features + 1,
          .output_width = config_.features + 1,
          .targets = TargetKind::kClasses};
}

NamedGraph GraphTask::graph(uint64_t seed, int64_t index, int64_t size_of) const {
  RandomStream random = content_stream(seed, index), of_size = content_stream(seed, size_of);
  draw_graph_size(random, config_);  // its own
  const GraphSize size = draw_graph_size(of_size, config_);
  Graph graph = draw_graph(random, size, config_.max_weight);
  std::vector<int64_t> features = draw_distinct(random, config_.features, graph.nodes);
  std::ranges::sort(features);
  const auto ends = draw_distinct(random, graph.nodes, 2);
  return {std::move(graph), std::move(features), ends[0], ends[1]};
}

TaskSample GraphTask::draw_sample(uint64_t seed, int64_t index, int64_t size_of) const {
  const NamedGraph named = graph(seed, index, size_of);
  const auto feature = [&](int64_t node) { return named.features[node]; };
  const int64_t width = shape().input_width;
  TaskSample sample;
  for (const Edge& edge : named.graph.edges) {
    const auto row = sample.add_row(width);
    row[feature(edge.u)] = 1;
    row[config_.features + feature(edge.v)] = 1;
    row.back() = static_cast<float>(edge.weight) / static_cast<float>(config_.max_weight);
  }
  for (const int64_t node : asked_about(named)) sample.add_row(width)[feature(node)] = 1;
  sample.add_row(width);
  std::vector<int64_t> classes;
  for (const int64_t node : solution(named)) classes.push_back(feature(node));
  classes.push_back(config_.features);
  sample.answer_with_classes(classes, width);
  return sample;
}

std::vector<Level> GraphTask::levels_of(const std::vector<Strategy>& strategies) const {
  double steps = 0, guessed = 0;
  std::vector<double> right(strategies.size(), 0.0), faultless = right;
  for (int64_t index = 0; index < kLevelSamples; ++index) {
    const NamedGraph named = graph(0, index, index);
    const auto truth = solution(named);
    const double answers = truth.size() + 1;
    steps += answers;
    guessed += answers / static_cast<double>(named.graph.nodes + 1);
    for (size_t i = 0; i < strategies.size(); ++i) {
      const auto answer = strategies[i].answer(named);
      right[i] += static_cast<double>(agreement(answer, truth));
      faultless[i] += answer == truth ? 1 : 0;
    }
  }
  std::vector<Level> levels = {{"guess a node or the end", "accuracy", guessed / steps}};
  for (size_t i = 0; i < strategies.size(); ++i)
    levels.push_back(
        {strategies[i].name, "accuracy", right[i] / steps, faultless[i] / kLevelSamples});
  return levels;
}

config::Json GraphTask::describe_graph(const NamedGraph& named, int64_t index) const {
  config::Json edges = config::Json::array();
  for (const Edge& edge : named.graph.edges) edges.push_back({edge.u, edge.v, edge.weight});
  return {{"index", index}, {"features", named.features}, {"edges", edges}};
}

std::vector<int64_t> ShortestPath::solution(const NamedGraph& named) const {
  return shortest_path(named.graph, named.source, named.destination);
}

std::vector<int64_t> ShortestPath::asked_about(const NamedGraph& named) const {
  return ends_of(named);
}

config::Json ShortestPath::describe(uint64_t seed, int64_t index) const {
  const NamedGraph named = graph(seed, index, index);
  const auto path = solution(named);
  config::Json json = describe_graph(named, index);
  json["source"] = named.source;
  json["destination"] = named.destination;
  json["answer"] = path;
  json["length"] = path_length(named.graph, path);
  return json;
}

std::vector<Level> ShortestPath::levels() const {
  return levels_of({{"source, destination, end", ends_of},
                    {"direct edge, else by the nearest neighbour", path_by_first_edges},
                    {"the shortest path of one or two edges", path_of_two_edges}});
}

std::vector<int64_t> SpanningTree::solution(const NamedGraph& named) const {
  return nodes_of(spanning_tree(named.graph));
}

config::Json SpanningTree::describe(uint64_t seed, int64_t index) const {
  const NamedGraph named = graph(seed, index, index);
  config::Json json = describe_graph(named, index), tree = config::Json::array();
  int64_t weight = 0;
  for (const Edge& edge : spanning_tree(named.graph)) {
    tree.push_back({edge.u, edge.v});
    weight += edge.weight;
  }
  json["answer"] = tree;
  json["weight"] = weight;
  return json;
}

std::vector<Level> SpanningTree::levels() const {
  return levels_of({{"the lightest edges, then the end", lightest_edges}});
}

}  // namespace tessera::task
