#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/config.h"
#include "tessera/base/random.h"

namespace tessera::task {

struct Point {
  double x, y;
};

double distance(const Point& a, const Point& b);

/// The feature that names a point in the answer. kShuffled: 1 … N in random order (training);
/// kIdentity: 1 … N in the order of the input (the published test sets).
enum class PointFeatures { kShuffled, kIdentity };
constexpr std::array<std::string_view, 2> enum_names(PointFeatures) {
  return {"shuffled", "identity"};
}

/// How a model reads coordinates. kUnit: as they are, in [0, 1), like the published data;
/// kStandard: with mean 0 and deviation 1.
enum class PointCoordinates { kUnit, kStandard };
constexpr std::array<std::string_view, 2> enum_names(PointCoordinates) {
  return {"unit", "standard"};
}

/// Points in the unit square as a sequence, and what a model answers about them (Le et al. 2020,
/// section 3.3; after Vinyals et al. 2015).
struct PointSet {
  std::vector<Point> points;
  std::vector<int64_t> features;  ///< [N], each of 1 … N once
};

/// Coordinates uniform in [0, 1), rounded to float.
PointSet draw_points(RandomStream& random, int64_t count, PointFeatures features);

/// Classes of an answer: 0 is never one, 1 … most_points are features, then comes the end.
inline int64_t point_classes(int64_t most_points) {
  return most_points + 2;
}

/// Input rows of 2 + point_classes(most_points) channels: x, y, and the feature one-hot; the last
/// point also sets channel 2 (class 0). Then one row of zeros. At the rows of zeros that follow,
/// the answer is the features of `solution` (places in `points`), then the class of the end.
TaskSample encode_points(const PointSet& points, std::span<const int64_t> solution,
                         int64_t most_points, PointCoordinates coordinates);

/// {"index", "points", "features", "answer"}: answer in places of points, from 0.
config::Json describe_points(const PointSet& points, std::span<const int64_t> solution,
                             int64_t index);

}  // namespace tessera::task
