#include "lab/task/sequence/task_kinds.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "lab/task/associative_retrieval/associative_retrieval.h"
#include "lab/task/copy/copy.h"
#include "lab/task/geometry/point_tasks.h"
#include "lab/task/graphs/graph_tasks.h"
#include "lab/task/moons/three_moons.h"
#include "lab/task/mqar/mqar.h"
#include "lab/task/needle/needle.h"
#include "lab/task/nth_farthest/nth_farthest.h"
#include "lab/task/people/people.h"
#include "lab/task/priority_sort/priority_sort.h"
#include "lab/task/relational_recall/relational_recall.h"
#include "tessera/base/suggestion.h"

namespace tessera::task {
namespace {

template <typename Task>
TaskKind task_kind_of(const std::string& name, const std::string& summary) {
  using Config = typename Task::Config;
  const auto read = [](const config::Json& settings) {
    Config config;
    config::from_json(settings, config, "task");
    return config;
  };
  return {name, summary, config::describe_fields<Config>(),
          [read](const config::Json& settings) { return std::make_unique<Task>(read(settings)); },
          [read](const config::Json& settings) { return config::to_json(read(settings)); }};
}

}  // namespace

const std::vector<TaskKind>& task_kinds() {
  static const std::vector<TaskKind> all = {
      task_kind_of<AssociativeRetrieval>(
          "associative-retrieval", "pairs of a letter and a digit: which digit came with a letter"),
      task_kind_of<NthFarthest>("nth-farthest",
                                "labelled vectors: which one is the k-th farthest from another"),
      task_kind_of<Copy>("copy", "repeat a sequence of random bits"),
      task_kind_of<PrioritySort>("priority-sort",
                                 "return random bits in the order of a number that came with them"),
      task_kind_of<RelationalRecall>(
          "relational-recall", "return the item that is farthest from, or closest to, a given one"),
      task_kind_of<ConvexHull>("convex-hull", "name the corners of points' convex hull"),
      task_kind_of<TravellingSalesman>("travelling-salesman",
                                       "name points in the order of their shortest closed tour"),
      task_kind_of<ShortestPath>("shortest-path",
                                 "name the nodes of the shortest path through a graph"),
      task_kind_of<SpanningTree>("spanning-tree",
                                 "name the edges of a graph's minimum spanning tree"),
      task_kind_of<ThreeMoons>("three-moons",
                               "predict where three moons of unknown periods stand next"),
      task_kind_of<Mqar>("mqar", "pairs of tokens, then keys again: which value came with each"),
      task_kind_of<People>("people", "names and facts of synthetic people, to be learned by heart"),
      task_kind_of<Needle>("needle", "stories that hide numbers: which number was told of a name"),
  };
  return all;
}

const TaskKind& task_kind(const std::string& name) {
  std::vector<std::string> names;
  for (const TaskKind& kind : task_kinds()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  throw UsageError("there is no task '{}' here; expected one of: {}{}", name,
                   fmt::join(names, ", "), suggestion(name, names));
}

}  // namespace tessera::task
