#include "lab/task/geometry/convex_hull_task.h"

#include <nlohmann/json.hpp>

#include "lab/task/geometry/convex_hull.h"
#include "lab/task/sequence/check_range.h"
#include "lab/task/sequence/draws.h"

namespace tessera::task {

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
