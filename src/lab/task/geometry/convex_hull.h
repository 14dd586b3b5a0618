#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/task/geometry/points.h"
#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

/// Corners of the convex hull, counter-clockwise, beginning with the corner of the lowest place, as
/// in the published test sets. Points inside an edge are no corners; of equal points the first
/// counts. Andrew 1979 (monotone chain). At least one point.
std::vector<int64_t> convex_hull(std::span<const Point> points);

struct ConvexHullConfig {
  int64_t min_points = 5;
  int64_t max_points = 20;
  int64_t most_points = 20;
  PointFeatures features = PointFeatures::kShuffled;
  PointCoordinates coordinates = PointCoordinates::kUnit;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("min_points", min_points, "fewest points");
    field("max_points", max_points, "maximum number of points; a batch shares one number");
    field("most_points", most_points,
          "maximum number of points a model of this task can name: its width");
    field("features", features, "shuffled for training, identity as the published test sets");
    field("coordinates", coordinates,
          "unit: in 0 to 1 as published; standard: with mean 0 and deviation 1");
  }
};

/// Convex hull (Vinyals et al. 2015; Le et al. 2020, section 3.3, appendix H): name the corners of
/// the hull of N points, counter-clockwise from the corner that came first in the input. Inputs and
/// answers as encode_points() lays them out.
class ConvexHull : public SequenceTask {
 public:
  /// Throws UsageError unless 3 <= min_points <= max_points <= most_points <= 4096.
  explicit ConvexHull(const ConvexHullConfig& config);

  using SequenceTask::sample;
  TaskShape shape() const override;
  TaskSample sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Guessing among the points and the end; and the corners in random order, then the end. Means
  /// over 1000 samples.
  std::vector<Level> levels() const override;
  bool pads_answers() const override { return true; }

 private:
  PointSet points(uint64_t seed, int64_t index, int64_t size_of) const;

  ConvexHullConfig config_;
};

}  // namespace tessera::task
