#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/random.h"

namespace tessera::task {

struct Edge {
  int64_t u, v;
  int64_t weight;
};

struct GraphSize {
  int64_t nodes = 0, edges = 0;
};

/// An undirected graph over the nodes 0 … nodes - 1.
struct Graph {
  int64_t nodes = 0;
  std::vector<Edge> edges;
};

struct GraphConfig {
  int64_t min_nodes = 5;
  int64_t max_nodes = 20;
  int64_t min_edges = 6;
  int64_t max_edges = 30;
  int64_t max_weight = 10;
  int64_t features = 40;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("min_nodes", min_nodes, "minimum number of nodes", config::at_least(2));
    field("max_nodes", max_nodes, "maximum number of nodes", config::at_least(2));
    field("min_edges", min_edges, "minimum number of edges, where the nodes allow it",
          config::at_least(1));
    field("max_edges", max_edges,
          "maximum number of edges, where the nodes allow it; a batch shares both numbers",
          config::between(1, 65536));
    field("max_weight", max_weight, "largest weight of an edge; weights are whole numbers",
          config::between(1, 1e6));
    field("features", features, "features that nodes are named by: width of a one-hot vector",
          config::between(2, 4096));
  }
};

/// The number of nodes is uniform in [min_nodes, max_nodes]; that of edges is uniform in
/// [min_edges, max_edges], cut to what N nodes allow: N - 1 … N (N - 1) / 2.
GraphSize draw_graph_size(RandomStream& random, const GraphConfig& config);

/// A connected graph of this size without loops or double edges (Le et al. 2020, appendix H): a
/// path through all nodes in random order, then random further edges; weights uniform in 1 …
/// max_weight; edges in random order and direction.
Graph draw_graph(RandomStream& random, const GraphSize& size, int64_t max_weight);

/// A shortest path from source to destination, both included (Dijkstra 1959). Of several shortest
/// ones the first in lexicographic order of its nodes. Weights must be positive.
/// Throws UsageError where no path leads there.
std::vector<int64_t> shortest_path(const Graph& graph, int64_t source, int64_t destination);

/// Sum of the weights along a path; of two edges between the same nodes the lighter counts. Throws
/// UsageError where an edge is missing.
int64_t path_length(const Graph& graph, const std::vector<int64_t>& path);

/// The edges by weight, then by lower node, then by higher node. In each edge u < v.
std::vector<Edge> edges_by_weight(const Graph& graph);

/// The edges of the minimum spanning tree in the order in which Kruskal 1956 takes them, that of
/// edges_by_weight().
/// Throws UsageError where the graph is not connected.
std::vector<Edge> spanning_tree(const Graph& graph);

}  // namespace tessera::task
