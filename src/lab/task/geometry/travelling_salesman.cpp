#include "lab/task/geometry/travelling_salesman.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/task/geometry/tour.h"
#include "lab/task/sequence/check_range.h"
#include "lab/task/sequence/draws.h"

namespace tessera::task {

TravellingSalesman::TravellingSalesman(const TravellingSalesmanConfig& config) : config_(config) {
  check_range(config.most_points, 3, 4096, "travelling_salesman: most_points");
  check_range(config.max_points, 3, std::min(kMostTourPoints, config.most_points),
              "travelling_salesman: max_points");
  check_range(config.min_points, 3, config.max_points, "travelling_salesman: min_points");
}

TaskShape TravellingSalesman::shape() const {
  const int64_t classes = point_classes(config_.most_points);
  return {.input_width = 2 + classes, .output_width = classes, .targets = TargetKind::kClasses};
}

PointSet TravellingSalesman::points(uint64_t seed, int64_t index, int64_t size_of) const {
  RandomStream content = content_stream(seed, index);
  const int64_t count = draw_size(seed, size_of, config_.min_points, config_.max_points);
  return draw_points(content, count, config_.features);
}

TaskSample TravellingSalesman::sample(uint64_t seed, int64_t index, int64_t size_of) const {
  const PointSet set = points(seed, index, size_of);
  return encode_points(set, shortest_tour(set.points), config_.most_points, config_.coordinates);
}

config::Json TravellingSalesman::describe(uint64_t seed, int64_t index) const {
  const PointSet set = points(seed, index, index);
  const auto tour = shortest_tour(set.points);
  config::Json json = describe_points(set, tour, index);
  json["length"] = tour_length(set.points, tour);
  return json;
}

std::vector<Level> TravellingSalesman::levels() const {
  // Every sample has N + 1 answers. Guessing gets one of them, a tour from the first point the
  // first, the end, and on average one of the N - 1 places between.
  const double steps = 0.5 * static_cast<double>(config_.min_points + config_.max_points) + 1;
  return {{"guess a point or the end", "accuracy", 1 / steps},
          {"any tour from the first point, then the end", "accuracy", 3 / steps}};
}

}  // namespace tessera::task
