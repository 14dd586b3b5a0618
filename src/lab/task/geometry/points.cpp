#include "lab/task/geometry/points.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/draws.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/consecutive.h"

namespace tessera::task {

double distance(const Point& a, const Point& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

PointSet draw_points(RandomStream& random, int64_t count, PointFeatures features) {
  PointSet set;
  for (int64_t i = 0; i < count; ++i) {
    // As the model sees them, so that the solution is that of its input.
    const double x = static_cast<float>(random.uniform());
    const double y = static_cast<float>(random.uniform());
    set.points.push_back({x, y});
  }
  if (features == PointFeatures::kShuffled) {
    set.features = draw_permutation(random, count);
  } else {
    set.features = consecutive<int64_t>(count);
  }
  for (int64_t& feature : set.features) ++feature;
  return set;
}

TaskSample encode_points(const PointSet& set, std::span<const int64_t> solution,
                         int64_t most_points, PointCoordinates coordinates) {
  const bool standard = coordinates == PointCoordinates::kStandard;
  const auto read = [&](double x) {  // uniform numbers deviate by 1 / sqrt(12)
    return static_cast<float>(standard ? (x - 0.5) * std::sqrt(12.0) : x);
  };
  const int64_t width = 2 + point_classes(most_points);
  TaskSample sample;
  for (size_t i = 0; i < set.points.size(); ++i) {
    const auto row = sample.add_row(width);
    row[0] = read(set.points[i].x);
    row[1] = read(set.points[i].y);
    row[2 + static_cast<size_t>(set.features[i])] = 1;
    if (i + 1 == set.points.size()) row[2] = 1;
  }
  sample.add_row(width);
  std::vector<int64_t> answer;
  for (int64_t place : solution) answer.push_back(set.features[static_cast<size_t>(place)]);
  answer.push_back(point_classes(most_points) - 1);
  sample.answer_with_classes(answer, width);
  return sample;
}

config::Json describe_points(const PointSet& set, std::span<const int64_t> solution,
                             int64_t index) {
  config::Json points = config::Json::array();
  for (const Point& point : set.points)
    points.push_back({shortest_decimal(static_cast<float>(point.x)),
                      shortest_decimal(static_cast<float>(point.y))});
  return {{"index", index},
          {"points", points},
          {"features", set.features},
          {"answer", std::vector<int64_t>(solution.begin(), solution.end())}};
}

}  // namespace tessera::task
