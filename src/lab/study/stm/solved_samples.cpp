#include "lab/study/stm/solved_samples.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <set>
#include <utility>

namespace tessera::stm_study {
namespace {

using config::Json;

/// A closed way through the points, in the order of the answer.
Sketch sketch_of_points(const Json& sample) {
  Sketch sketch;
  for (const Json& point : sample.at("points"))
    sketch.points.push_back({point.at(0), point.at(1), std::to_string(sketch.points.size() + 1)});
  const auto answer = sample.at("answer").get<std::vector<size_t>>();
  for (size_t i = 0; i < answer.size(); ++i)
    sketch.lines.push_back({answer[i], answer[(i + 1) % answer.size()], "", /*is_marked=*/true});
  return sketch;
}

/// The edges of a path (a list of nodes) or of a tree (a list of edges), lower node first.
std::set<std::pair<size_t, size_t>> solution_of(const Json& answer) {
  std::set<std::pair<size_t, size_t>> edges;
  for (size_t i = 0; i < answer.size(); ++i) {
    if (answer[i].is_array())
      edges.insert(std::minmax(answer[i].at(0).get<size_t>(), answer[i].at(1).get<size_t>()));
    else if (i > 0)
      edges.insert(std::minmax(answer[i - 1].get<size_t>(), answer[i].get<size_t>()));
  }
  return edges;
}

Sketch sketch_of_graph(const Json& sample) {
  Sketch sketch;
  const auto nodes = sample.at("features").size();
  for (size_t node = 0; node < nodes; ++node) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(node) / static_cast<double>(nodes);
    sketch.points.push_back(
        {0.5 + 0.5 * std::sin(angle), 0.5 + 0.5 * std::cos(angle), std::to_string(node + 1)});
  }
  const auto solution = solution_of(sample.at("answer"));
  for (const Json& edge : sample.at("edges")) {
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
    const Json sample = task.describe(seed, index);
    Sketch sketch = sample.contains("points") ? sketch_of_points(sample) : sketch_of_graph(sample);
    sketch.name = fmt::format("sample {}", index);
    if (sample.contains("source"))
      sketch.name += fmt::format(": {} to {}", sample["source"].get<int64_t>() + 1,
                                 sample["destination"].get<int64_t>() + 1);
    sketches.add(std::move(sketch));
  }
  return sketches;
}

}  // namespace tessera::stm_study
