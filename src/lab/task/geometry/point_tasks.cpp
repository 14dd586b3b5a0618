#include "lab/task/geometry/point_tasks.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/draws.h"
#include "tessera/base/consecutive.h"

namespace tessera::task {

PointSet draw_points(RandomStream& random, int64_t count, PointFeatures features) {
  PointSet set;
  for (int64_t i = 0; i < count; ++i) {
    // As the model sees them, so that the solution is that of its input.
    const double x = static_cast<float>(random.uniform());
    const double y = static_cast<float>(random.uniform());
    set.points.push_back({x, y});
  }
  set.features = features == PointFeatures::kShuffled ? draw_permutation(random, count)
                                                      : consecutive<int64_t>(count);
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
    row[2 + set.features[i]] = 1;
    if (i + 1 == set.points.size()) row[2] = 1;
  }
  sample.add_row(width);
  std::vector<int64_t> answer;
  for (int64_t place : solution) answer.push_back(set.features[place]);
  answer.push_back(point_classes(most_points) - 1);
  sample.answer_with_classes(answer, width);
  return sample;
}

PointTask::PointTask(const PointTaskConfig& config, int64_t limit) : ConfiguredTask(config) {
  check_range(config.max_points, 3, std::min(limit, config.most_points), "task.max_points");
  check_range(config.min_points, 3, config.max_points, "task.min_points");
}

TaskShape PointTask::shape() const {
  const int64_t classes = point_classes(config_.most_points);
  return {.input_width = 2 + classes, .output_width = classes, .targets = TargetKind::kClasses};
}

PointSet PointTask::points(uint64_t seed, int64_t index, int64_t size_of) const {
  RandomStream content = content_stream(seed, index);
  const int64_t count = draw_size(seed, size_of, config_.min_points, config_.max_points);
  return draw_points(content, count, config_.features);
}

TaskSample PointTask::draw_sample(uint64_t seed, int64_t index, int64_t size_of) const {
  const PointSet set = points(seed, index, size_of);
  return encode_points(set, solution(set.points), config_.most_points, config_.coordinates);
}

config::Json PointTask::describe(uint64_t seed, int64_t index) const {
  const PointSet set = points(seed, index, index);
  config::Json points = config::Json::array();
  for (const Point& point : set.points)
    points.push_back({shortest_decimal(static_cast<float>(point.x)),
                      shortest_decimal(static_cast<float>(point.y))});
  return {{"index", index},
          {"points", points},
          {"features", set.features},
          {"answer", solution(set.points)}};
}

ConvexHull::ConvexHull(const PointTaskConfig& config) : PointTask(config, config.most_points) {}

std::vector<int64_t> ConvexHull::solution(std::span<const Point> points) const {
  return convex_hull(points);
}

std::vector<Level> ConvexHull::levels() const {
  constexpr int64_t kSamples = 1000;
  double steps = 0, guessed = 0, faultless = 0;
  for (int64_t index = 0; index < kSamples; ++index) {
    const PointSet set = points(0, index, index);
    const auto corners = static_cast<double>(convex_hull(set.points).size());
    steps += corners + 1;
    guessed += (corners + 1) / static_cast<double>(set.points.size() + 1);
    faultless += 1 / std::tgamma(corners);  // one of the (corners - 1)! orders behind the first
  }
  // In random order one corner is where it belongs, on average. In the order of the input the first
  // one is, and one of those behind it. The end is right in both.
  return {{"guess a point or the end", "accuracy", guessed / steps},
          {"the corners in random order, then the end", "accuracy", 2 * kSamples / steps},
          {"the corners in input order, then the end", "accuracy", 3 * kSamples / steps,
           faultless / kSamples}};
}

TravellingSalesman::TravellingSalesman(const PointTaskConfig& config)
    : PointTask(config, kMostTourPoints) {}

std::vector<int64_t> TravellingSalesman::solution(std::span<const Point> points) const {
  return shortest_tour(points);
}

config::Json TravellingSalesman::describe(uint64_t seed, int64_t index) const {
  config::Json json = PointTask::describe(seed, index);
  json["length"] =
      tour_length(points(seed, index, index).points, json["answer"].get<std::vector<int64_t>>());
  return json;
}

std::vector<Level> TravellingSalesman::levels() const {
  // Every sample has N + 1 answers. Guessing gets one of them, a tour from the first point the
  // first, the end, and on average one of the N - 1 places between. In the order of the input the
  // second point and the last one are right twice as often as in a random order, because half of
  // all orders go in the other direction.
  const double steps = 0.5 * static_cast<double>(config_.min_points + config_.max_points) + 1;
  double ordered = 0, faultless = 0;
  for (int64_t n = config_.min_points; n <= config_.max_points; ++n) {
    const auto between = static_cast<double>(n - 1);
    ordered += 3 + 2 / between;
    faultless += 2 / std::tgamma(between + 1);
  }
  const auto sizes = static_cast<double>(config_.max_points - config_.min_points + 1);
  return {{"guess a point or the end", "accuracy", 1 / steps},
          {"any tour from the first point, then the end", "accuracy", 3 / steps},
          {"the points in input order, then the end", "accuracy", ordered / sizes / steps,
           faultless / sizes}};
}

}  // namespace tessera::task
