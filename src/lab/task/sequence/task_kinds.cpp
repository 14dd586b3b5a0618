#include "lab/task/sequence/task_kinds.h"

#include <fmt/ranges.h>

#include <functional>
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

struct Entry {
  TaskKind kind;
  std::function<std::unique_ptr<SequenceTask>(const config::Json&)> make;
  std::function<config::Json(const config::Json&)> complete;
};

template <typename Task, typename Config>
Entry entry(const std::string& name, const std::string& summary) {
  const auto read = [name](const config::Json& settings) {
    Config config;
    config::from_json(settings, config, name);
    return config;
  };
  return {{name, summary, config::describe_fields(Config{})},
          [read](const config::Json& settings) { return std::make_unique<Task>(read(settings)); },
          [read](const config::Json& settings) { return config::to_json(read(settings)); }};
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      entry<AssociativeRetrieval, AssociativeRetrievalConfig>(
          "associative-retrieval", "pairs of a letter and a digit: which digit came with a letter"),
      entry<NthFarthest, NthFarthestConfig>(
          "nth-farthest", "labelled vectors: which one is the k-th farthest from another"),
      entry<Copy, CopyConfig>("copy", "repeat a sequence of random bits"),
      entry<PrioritySort, PrioritySortConfig>(
          "priority-sort", "return random bits in the order of a number that came with them"),
      entry<RelationalRecall, RelationalRecallConfig>(
          "relational-recall", "return the item that is farthest from, or closest to, a given one"),
      entry<ConvexHull, PointTaskConfig>("convex-hull", "name the corners of points' convex hull"),
      entry<TravellingSalesman, TravellingSalesmanConfig>(
          "travelling-salesman", "name points in the order of their shortest closed tour"),
      entry<ShortestPath, GraphConfig>("shortest-path",
                                       "name the nodes of the shortest path through a graph"),
      entry<SpanningTree, GraphConfig>("spanning-tree",
                                       "name the edges of a graph's minimum spanning tree"),
      entry<ThreeMoons, ThreeMoonsConfig>(
          "three-moons", "predict where three moons of unknown periods stand next"),
      entry<Mqar, MqarConfig>("mqar",
                              "pairs of tokens, then keys again: which value came with each"),
      entry<People, PeopleConfig>("people",
                                  "names and facts of synthetic people, to be learnt by heart"),
      entry<Needle, NeedleConfig>("needle",
                                  "stories that hide numbers: which number was told of a name"),
  };
  return all;
}

const Entry& entry_of(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) {
    if (entry.kind.name == name) return entry;
    names.push_back(entry.kind.name);
  }
  throw UsageError("there is no task '{}'; the tasks are: {}{}", name, fmt::join(names, ", "),
                   suggestion(name, names));
}

}  // namespace

const std::vector<TaskKind>& task_kinds() {
  static const std::vector<TaskKind> kinds = [] {
    std::vector<TaskKind> result;
    for (const Entry& entry : entries()) result.push_back(entry.kind);
    return result;
  }();
  return kinds;
}

std::unique_ptr<SequenceTask> make_task(const std::string& name, const config::Json& settings) {
  return entry_of(name).make(settings);
}

config::Json complete_settings(const std::string& name, const config::Json& settings) {
  return entry_of(name).complete(settings);
}

}  // namespace tessera::task
