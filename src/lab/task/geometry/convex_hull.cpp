#include "lab/task/geometry/convex_hull.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "lab/task/sequence/draws.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/error.h"

namespace tessera::task {

namespace {

/// Twice the area of the triangle a, b, c; positive where a, b, c turn left.
double turn(const Point& a, const Point& b, const Point& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/// Appends the half of the hull that lies right of the way through `order`, less its last point.
void append_chain(std::span<const Point> points, std::span<const int64_t> order,
                  std::vector<int64_t>& hull) {
  const auto at = [&](int64_t place) { return points[static_cast<size_t>(place)]; };
  const size_t begin = hull.size();
  for (int64_t place : order) {
    while (hull.size() >= begin + 2 &&
           turn(at(hull[hull.size() - 2]), at(hull.back()), at(place)) <= 0)
      hull.pop_back();
    hull.push_back(place);
  }
  hull.pop_back();
}

}  // namespace

std::vector<int64_t> convex_hull(std::span<const Point> points) {
  check_argument(!points.empty(), "convex_hull: no points");
  const auto key = [&](int64_t place) {
    const Point& point = points[static_cast<size_t>(place)];
    return std::pair(point.x, point.y);
  };
  std::vector<int64_t> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return key(a) < key(b); });
  order.erase(std::unique(order.begin(), order.end(),
                          [&](int64_t a, int64_t b) { return key(a) == key(b); }),
              order.end());
  if (order.size() == 1) return order;

  std::vector<int64_t> hull;
  append_chain(points, order, hull);
  std::reverse(order.begin(), order.end());
  append_chain(points, order, hull);
  std::rotate(hull.begin(), std::min_element(hull.begin(), hull.end()), hull.end());
  return hull;
}

ConvexHull::ConvexHull(const ConvexHullConfig& config) : config_(config) {
  check_range(config.most_points, 3, 4096, "convex_hull: most_points");
  check_range(config.max_points, 3, config.most_points, "convex_hull: max_points");
  check_range(config.min_points, 3, config.max_points, "convex_hull: min_points");
}

TaskShape ConvexHull::shape() const {
  const int64_t classes = point_classes(config_.most_points);
  return {.input_width = 2 + classes, .output_width = classes, .targets = TargetKind::kClasses};
}

PointSet ConvexHull::points(uint64_t seed, int64_t index, int64_t size_of) const {
  RandomStream content = content_stream(seed, index);
  const int64_t count = draw_size(seed, size_of, config_.min_points, config_.max_points);
  return draw_points(content, count, config_.features);
}

TaskSample ConvexHull::sample(uint64_t seed, int64_t index, int64_t size_of) const {
  const PointSet set = points(seed, index, size_of);
  return encode_points(set, convex_hull(set.points), config_.most_points, config_.coordinates);
}

config::Json ConvexHull::describe(uint64_t seed, int64_t index) const {
  const PointSet set = points(seed, index, index);
  return describe_points(set, convex_hull(set.points), index);
}

std::vector<Level> ConvexHull::levels() const {
  double steps = 0, guessed = 0, unordered = 0;
  for (int64_t index = 0; index < 1000; ++index) {
    const PointSet set = points(0, index, index);
    const auto answers = static_cast<double>(convex_hull(set.points).size()) + 1;
    steps += answers;
    guessed += answers / static_cast<double>(set.points.size() + 1);
    unordered += 2;  // one corner where it belongs, and the end
  }
  return {{"guess a point or the end", "accuracy", guessed / steps},
          {"the corners in random order, then the end", "accuracy", unordered / steps}};
}

}  // namespace tessera::task
