#pragma once

#include "lab/task/graphs/graph.h"
#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

/// A graph whose nodes have names that a model reads and answers with.
struct NamedGraph {
  Graph graph;
  std::vector<int64_t> features;  ///< of each node, ascending, from 0 … config.features - 1
  int64_t source, destination;    ///< different nodes; used by the shortest path alone
};

/// What the two graph tasks share (Le et al. 2020, section 3.3, appendix H), both over the same
/// graphs. No code was published; the paper leaves open how weights are written, the order of the
/// edges and of the answer, ties, and how an answer ends. Chosen here:
///   - an input row per edge, in random order and direction: one-hot features of both nodes, then
///     weight / max_weight in one channel; 2 · features + 1 channels;
///   - then one row of zeros, then rows of zeros at which the answer is given, one class each:
///     features of nodes, and `features` for the end;
///   - nodes are numbered in ascending order of their features, so that ties, which are broken by
///     node, are broken by what a model can see.
class GraphTask : public ConfiguredTask<GraphConfig> {
 public:
  TaskShape shape() const override;
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  bool pads_answers() const override { return true; }

  /// The graph of a sample, with the numbers of nodes and edges of sample `size_of`.
  NamedGraph graph(uint64_t seed, int64_t index, int64_t size_of) const;

 protected:
  /// Throws UsageError on sizes out of bounds and unless min_nodes <= max_nodes <= features and
  /// min_edges <= max_edges.
  explicit GraphTask(const GraphConfig& config);

  /// The nodes that the answer names, before the end.
  virtual std::vector<int64_t> solution(const NamedGraph& graph) const = 0;
  /// The nodes of the rows between the edges and the row of zeros, where an edge has its first one.
  virtual std::vector<int64_t> asked_about(const NamedGraph&) const { return {}; }

  /// How somebody answers who does not solve the task: with these nodes, then the end.
  struct Strategy {
    std::string name;
    std::vector<int64_t> (*answer)(const NamedGraph& graph);
  };
  /// Guessing among the nodes and the end, and these strategies. Means over 1000 samples.
  std::vector<Level> levels_of(const std::vector<Strategy>& strategies) const;
  /// {"index", "features", "edges": [[u, v, weight], …]}: nodes by number, from 0.
  config::Json describe_graph(const NamedGraph& graph, int64_t index) const;
};

/// Shortest path: after the edges come two rows, the source's feature and the destination's, where
/// an edge has that of its first node. The answer is the nodes of a shortest path from source to
/// destination, both included; of several the first in lexicographic order.
class ShortestPath : public GraphTask {
 public:
  explicit ShortestPath(const GraphConfig& config) : GraphTask(config) {}
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Guessing among the nodes and the end; source, destination, end; the direct edge where there is
  /// one, else by way of the source's nearest neighbour; and the shortest path of one or two edges,
  /// where there is none as before. Means over 1000 samples.
  std::vector<Level> levels() const override;

 protected:
  std::vector<int64_t> solution(const NamedGraph& graph) const override;
  std::vector<int64_t> asked_about(const NamedGraph& graph) const override;
};

/// Minimum spanning tree: the answer is both nodes of each edge of the tree, lower node first, in
/// the order in which Kruskal's algorithm takes them: by weight, then lower node, then higher node.
class SpanningTree : public GraphTask {
 public:
  explicit SpanningTree(const GraphConfig& config) : GraphTask(config) {}
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Guessing among the nodes and the end; and the N - 1 lightest edges, cycles or not, then the
  /// end. Means over 1000 samples.
  std::vector<Level> levels() const override;

 protected:
  std::vector<int64_t> solution(const NamedGraph& graph) const override;
};

}  // namespace tessera::task
