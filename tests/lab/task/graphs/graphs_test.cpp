#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/task/graphs/graph_tasks.h"
#include "tessera/base/checksum.h"
#include "tessera/base/error.h"

namespace tessera::task {
namespace {

using testing::ElementsAre;
using testing::FieldsAre;

Graph random_graph(uint64_t seed, const GraphConfig& config = {}) {
  RandomStream random(seed);
  return draw_graph(random, draw_graph_size(random, config), config.max_weight);
}

TEST(ShortestPath, TakesTheFirstOfEquallyShortOnes) {
  // 0-3 costs 4 by way of 1 and by way of 2; directly 5.
  const Graph graph{4, {{0, 3, 5}, {0, 2, 1}, {3, 2, 3}, {1, 0, 3}, {1, 3, 1}}};
  EXPECT_THAT(shortest_path(graph, 0, 3), ElementsAre(0, 1, 3));
  EXPECT_THAT(shortest_path(graph, 3, 0), ElementsAre(3, 1, 0));
  EXPECT_EQ(path_length(graph, {0, 1, 3}), 4);
  EXPECT_EQ(path_length(graph, {0, 2, 3}), 4);
  EXPECT_THAT(shortest_path(graph, 2, 2), ElementsAre(2));
  EXPECT_THROW(path_length(graph, {1, 2}), UsageError);
  EXPECT_THROW(shortest_path({3, {{0, 1, 1}}}, 0, 2), UsageError);
}

/// All simple paths, by depth-first search; the shortest, then the first in lexicographic order.
std::vector<int64_t> slow_path(const Graph& graph, int64_t source, int64_t destination) {
  std::vector<int64_t> best, path = {source};
  int64_t best_length = std::numeric_limits<int64_t>::max();
  const auto search = [&](auto&& self, int64_t length) -> void {
    if (path.back() == destination) {
      if (length < best_length || (length == best_length && path < best)) {
        best = path;
        best_length = length;
      }
      return;
    }
    for (const Edge& edge : graph.edges)
      for (const auto& [from, to] : {std::pair(edge.u, edge.v), std::pair(edge.v, edge.u)})
        if (from == path.back() && std::find(path.begin(), path.end(), to) == path.end()) {
          path.push_back(to);
          self(self, length + edge.weight);
          path.pop_back();
        }
  };
  search(search, 0);
  return best;
}

TEST(ShortestPath, IsTheBestOfAllPaths) {
  const GraphConfig small{
      .min_nodes = 2, .max_nodes = 8, .min_edges = 1, .max_edges = 14, .max_weight = 3};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed, small);
    EXPECT_EQ(shortest_path(graph, 0, graph.nodes - 1), slow_path(graph, 0, graph.nodes - 1))
        << seed;
  }
}

TEST(SpanningTree, HandWorkedExample) {
  // A square with a diagonal; the two edges of weight 2 are taken in the order of their nodes.
  const Graph graph{4, {{2, 1, 2}, {3, 0, 7}, {1, 0, 2}, {0, 2, 3}, {3, 2, 1}}};
  EXPECT_THAT(spanning_tree(graph),
              ElementsAre(FieldsAre(2, 3, 1), FieldsAre(0, 1, 2), FieldsAre(1, 2, 2)));
  EXPECT_TRUE(spanning_tree({1, {}}).empty());
  EXPECT_THROW(spanning_tree({3, {{0, 1, 1}}}), UsageError);
}

/// The least weight of all sets of nodes - 1 edges that connect the graph.
int64_t slow_tree_weight(const Graph& graph) {
  int64_t best = std::numeric_limits<int64_t>::max();
  std::vector<bool> chosen(graph.edges.size(), false);
  std::fill(chosen.begin(), chosen.begin() + graph.nodes - 1, true);
  do {
    std::set<int64_t> reached = {0};
    int64_t weight = 0;
    for (int64_t round = 0; round < graph.nodes; ++round)
      for (size_t i = 0; i < chosen.size(); ++i)
        if (chosen[i] && (reached.count(graph.edges[i].u) || reached.count(graph.edges[i].v))) {
          reached.insert(graph.edges[i].u);
          reached.insert(graph.edges[i].v);
        }
    for (size_t i = 0; i < chosen.size(); ++i) weight += chosen[i] ? graph.edges[i].weight : 0;
    if (std::ssize(reached) == graph.nodes) best = std::min(best, weight);
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return best;
}

TEST(SpanningTree, IsTheLightestOfAllTrees) {
  const GraphConfig small{.min_nodes = 2, .max_nodes = 6, .min_edges = 1, .max_edges = 10};
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = random_graph(seed, small);
    const auto tree = spanning_tree(graph);
    int64_t weight = 0;
    for (const Edge& edge : tree) weight += edge.weight;
    EXPECT_EQ(weight, slow_tree_weight(graph)) << seed;
    EXPECT_EQ(std::ssize(tree), graph.nodes - 1);
    for (size_t i = 0; i + 1 < tree.size(); ++i) EXPECT_LE(tree[i].weight, tree[i + 1].weight);
    for (const Edge& edge : tree) EXPECT_LT(edge.u, edge.v);
  }
}

TEST(Graphs, AreConnectedSimpleAndOfThePapersSizes) {
  std::set<int64_t> nodes, edges, weights;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Graph graph = random_graph(seed);
    nodes.insert(graph.nodes);
    edges.insert(std::ssize(graph.edges));
    std::set<std::pair<int64_t, int64_t>> pairs;
    for (const Edge& edge : graph.edges) {
      EXPECT_NE(edge.u, edge.v);
      EXPECT_TRUE(pairs.insert(std::minmax(edge.u, edge.v)).second);
      weights.insert(edge.weight);
    }
    EXPECT_NO_THROW(spanning_tree(graph));  // connected
  }
  EXPECT_EQ(*nodes.begin(), 5);
  EXPECT_EQ(*nodes.rbegin(), 20);
  EXPECT_EQ(*edges.begin(), 6);
  EXPECT_EQ(*edges.rbegin(), 30);
  EXPECT_EQ(weights.size(), 10u);
}

TEST(Graphs, TakeAsManyEdgesAsTheNodesAllow) {
  const GraphConfig full{.min_nodes = 4, .max_nodes = 4, .min_edges = 30, .max_edges = 30};
  EXPECT_EQ(random_graph(0, full).edges.size(), 6u);
  const GraphConfig path{.min_nodes = 4, .max_nodes = 4, .min_edges = 1, .max_edges = 1};
  EXPECT_EQ(random_graph(0, path).edges.size(), 3u);
}

/// What a row of the input says: class of the one-hot vector from `begin` on, or -1.
int64_t feature(const TaskSample& sample, int64_t row, int64_t begin) {
  for (int64_t i = 0; i < 40; ++i)
    if (sample.inputs.at(row * 81 + begin + i) == 1) return i;
  return -1;
}

TEST(GraphTasks, InputsAndAnswersAreTheGraphs) {
  const ShortestPath path(GraphConfig{});
  const SpanningTree tree(GraphConfig{});
  EXPECT_EQ(path.shape().input_width, 81);
  EXPECT_EQ(path.shape().output_width, 41);
  for (int64_t index = 0; index < 50; ++index) {
    const NamedGraph named = path.graph(2, index, index);
    const auto json = path.describe(2, index);
    const auto sample = path.sample(2, index), tree_sample = tree.sample(2, index);
    const int64_t edges = std::ssize(named.graph.edges);
    EXPECT_TRUE(std::is_sorted(named.features.begin(), named.features.end()));
    EXPECT_NE(named.source, named.destination);
    const auto name = [&](int64_t node) { return named.features[node]; };
    for (int64_t row = 0; row < edges; ++row) {
      const Edge& edge = named.graph.edges[row];
      for (const auto& one : {sample, tree_sample}) {
        EXPECT_EQ(feature(one, row, 0), name(edge.u));
        EXPECT_EQ(feature(one, row, 40), name(edge.v));
        EXPECT_FLOAT_EQ(one.inputs[row * 81 + 80], static_cast<float>(edge.weight) / 10);
      }
    }
    EXPECT_EQ(feature(sample, edges, 0), name(named.source));
    EXPECT_EQ(feature(sample, edges + 1, 0), name(named.destination));
    EXPECT_EQ(sample.first_answer, edges + 3);
    EXPECT_EQ(tree_sample.first_answer, edges + 1);
    // The path's features, then the end; the tree's two a node, then the end.
    EXPECT_EQ(sample.classes.front(), name(named.source));
    EXPECT_EQ(sample.classes[sample.classes.size() - 2], name(named.destination));
    EXPECT_EQ(sample.classes.back(), 40);
    EXPECT_EQ(std::ssize(sample.classes), std::ssize(json["answer"]) + 1);
    EXPECT_EQ(std::ssize(tree_sample.classes), 2 * (named.graph.nodes - 1) + 1);
    EXPECT_EQ(tree_sample.classes.back(), 40);
    EXPECT_EQ(json["length"], path_length(named.graph, json["answer"]));
  }
}

TEST(GraphTasks, ABatchSharesTheSizesOfItsFirstGraph) {
  const SpanningTree task(GraphConfig{});
  const Graph first = task.graph(3, 0, 0).graph;
  std::set<std::vector<int64_t>> named;
  for (int64_t index = 0; index < 20; ++index) {
    const NamedGraph other = task.graph(3, index, 0);
    EXPECT_EQ(other.graph.nodes, first.nodes);
    EXPECT_EQ(other.graph.edges.size(), first.edges.size());
    named.insert(other.features);
  }
  EXPECT_EQ(named.size(), 20u);
}

TEST(GraphTasks, DescribeThemselvesTheSameEverywhere) {
  const GraphConfig small{.min_nodes = 3, .max_nodes = 3, .min_edges = 3, .max_edges = 3};
  EXPECT_EQ(
      ShortestPath(small).describe(1, 0).dump(),
      R"({"index":0,"features":[13,23,31],"edges":[[0,2,7],[1,0,2],[1,2,4]],"source":2,"destination":0,"answer":[2,1,0],"length":6})");
  EXPECT_EQ(
      SpanningTree(small).describe(1, 0).dump(),
      R"({"index":0,"features":[13,23,31],"edges":[[0,2,7],[1,0,2],[1,2,4]],"answer":[[0,1],[1,2]],"weight":6})");
  Checksum all;
  for (int64_t index = 0; index < 100; ++index)
    all.add(ShortestPath(GraphConfig{}).describe(1, index).dump());
  EXPECT_EQ(all.hex(), "cb4c946c36ee53cd");
}

TEST(GraphTasks, LevelsAreSharesBelowOne) {
  // Two nodes: the path is the edge, so that "source, destination, end" is right, and so is the
  // lightest edge.
  const GraphConfig two{.min_nodes = 2, .max_nodes = 2};
  EXPECT_DOUBLE_EQ(ShortestPath(two).levels().at(1).value, 1);
  EXPECT_DOUBLE_EQ(SpanningTree(two).levels().at(1).value, 1);
  EXPECT_NEAR(ShortestPath(two).levels().at(0).value, 1.0 / 3, 1e-12);
  // The paper's sizes: the numbers of docs/tasks.md.
  EXPECT_NEAR(ShortestPath(GraphConfig{}).levels().at(0).value, 0.0785, 1e-4);
  EXPECT_NEAR(ShortestPath(GraphConfig{}).levels().at(1).value, 0.3307, 1e-4);
  const GraphConfig small{.max_nodes = 8, .max_edges = 12, .features = 16};
  EXPECT_NEAR(ShortestPath(small).levels().at(2).value, 0.7098, 1e-4);
  EXPECT_NEAR(SpanningTree(GraphConfig{}).levels().at(1).value, 0.8039, 1e-4);
}

// Of three nodes no path has more than two edges.
TEST(GraphTasks, TheLevelOfTwoEdgesIsTheShortestPathOfThreeNodes) {
  const GraphConfig three{.min_nodes = 3, .max_nodes = 3};
  const Level level = ShortestPath(three).levels().at(3);
  EXPECT_DOUBLE_EQ(level.value, 1);
  EXPECT_DOUBLE_EQ(*level.faultless, 1);
  EXPECT_LT(*ShortestPath(three).levels().at(2).faultless, 1);
}

TEST(GraphTasks, RefuseImpossibleSizes) {
  EXPECT_THROW(ShortestPath({.min_nodes = 1}), UsageError);
  EXPECT_THROW(ShortestPath({.min_nodes = 9, .max_nodes = 8}), UsageError);
  EXPECT_THROW(SpanningTree({.max_nodes = 41}), UsageError);
  EXPECT_THROW(SpanningTree({.min_edges = 0}), UsageError);
  EXPECT_THROW(SpanningTree({.min_edges = 8, .max_edges = 7}), UsageError);
  EXPECT_THROW(SpanningTree({.max_weight = 0}), UsageError);
  EXPECT_THROW(SpanningTree({.features = 1}), UsageError);
}

}  // namespace
}  // namespace tessera::task
