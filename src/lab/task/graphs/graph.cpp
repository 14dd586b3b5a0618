#include "lab/task/graphs/graph.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <tuple>

#include "lab/task/sequence/draws.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"

namespace tessera::task {
namespace {

constexpr int64_t kUnreached = std::numeric_limits<int64_t>::max();

/// Neighbours of each node with the weight of the edge.
std::vector<std::vector<std::pair<int64_t, int64_t>>> neighbours(const Graph& graph) {
  std::vector<std::vector<std::pair<int64_t, int64_t>>> result(graph.nodes);
  for (const Edge& edge : graph.edges) {
    result[edge.u].emplace_back(edge.v, edge.weight);
    result[edge.v].emplace_back(edge.u, edge.weight);
  }
  return result;
}

/// Distance of every node to `target`; kUnreached where there is no path.
std::vector<int64_t> distances_to(const Graph& graph, int64_t target) {
  const auto edges = neighbours(graph);
  std::vector<int64_t> distances(edges.size(), kUnreached);
  using Entry = std::pair<int64_t, int64_t>;  // distance, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  distances[target] = 0;
  open.emplace(0, target);
  while (!open.empty()) {
    const auto [distance, node] = open.top();
    open.pop();
    if (distance > distances[node]) continue;
    for (const auto& [next, weight] : edges[node]) {
      if (distance + weight >= distances[next]) continue;
      distances[next] = distance + weight;
      open.emplace(distance + weight, next);
    }
  }
  return distances;
}

}  // namespace

GraphSize draw_graph_size(RandomStream& random, const GraphConfig& config) {
  const int64_t nodes = draw_between(random, config.min_nodes, config.max_nodes);
  const int64_t fewest = nodes - 1, most = nodes * (nodes - 1) / 2;
  return {nodes, draw_between(random, std::clamp(config.min_edges, fewest, most),
                              std::clamp(config.max_edges, fewest, most))};
}

Graph draw_graph(RandomStream& random, const GraphSize& size, int64_t max_weight) {
  Graph graph{.nodes = size.nodes, .edges = {}};
  std::set<std::pair<int64_t, int64_t>> taken;
  const auto add = [&](int64_t u, int64_t v) {
    if (u != v && taken.insert(std::minmax(u, v)).second)
      graph.edges.push_back({u, v, draw_between(random, 1, max_weight)});
  };
  const auto path = draw_permutation(random, graph.nodes);
  for (size_t i = 0; i + 1 < path.size(); ++i) add(path[i], path[i + 1]);
  while (std::ssize(graph.edges) < size.edges) {
    const int64_t v = draw_between(random, 0, graph.nodes - 1);
    add(draw_between(random, 0, graph.nodes - 1), v);
  }

  std::vector<Edge> shuffled;
  for (int64_t place : draw_permutation(random, size.edges)) {
    Edge edge = graph.edges[place];
    if (random.below(2) == 1) std::swap(edge.u, edge.v);
    shuffled.push_back(edge);
  }
  graph.edges = std::move(shuffled);
  return graph;
}

std::vector<int64_t> shortest_path(const Graph& graph, int64_t source, int64_t destination) {
  const auto edges = neighbours(graph);
  const auto distances = distances_to(graph, destination);
  check_argument(distances.at(source) != kUnreached, "shortest_path: no path from {} to {}", source,
                 destination);
  std::vector<int64_t> path = {source};
  while (path.back() != destination) {
    const int64_t here = path.back();
    int64_t step = graph.nodes;
    for (const auto& [next, weight] : edges[here])
      if (distances[next] + weight == distances[here]) step = std::min(step, next);
    path.push_back(step);
  }
  return path;
}

int64_t path_length(const Graph& graph, const std::vector<int64_t>& path) {
  const auto edges = neighbours(graph);
  int64_t length = 0;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    int64_t lightest = kUnreached;
    for (const auto& [next, weight] : edges[path[i]])
      if (next == path[i + 1]) lightest = std::min(lightest, weight);
    check_argument(lightest != kUnreached, "path_length: no edge from {} to {}", path[i],
                   path[i + 1]);
    length += lightest;
  }
  return length;
}

std::vector<Edge> edges_by_weight(const Graph& graph) {
  std::vector<Edge> edges = graph.edges;
  for (Edge& edge : edges)
    if (edge.u > edge.v) std::swap(edge.u, edge.v);
  std::ranges::stable_sort(
      edges, {}, [](const Edge& edge) { return std::tuple(edge.weight, edge.u, edge.v); });
  return edges;
}

std::vector<Edge> spanning_tree(const Graph& graph) {
  std::vector<Edge> edges = edges_by_weight(graph);
  std::vector<int64_t> tree_of = consecutive<int64_t>(graph.nodes);  // joined one after the other
  std::erase_if(edges, [&](const Edge& edge) {
    const int64_t one = tree_of[edge.u], other = tree_of[edge.v];
    if (one != other) std::ranges::replace(tree_of, other, one);
    return one == other;
  });
  check_argument(std::ssize(edges) == graph.nodes - 1, "spanning_tree: the graph is not connected");
  return edges;
}

}  // namespace tessera::task
