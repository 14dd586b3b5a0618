#pragma once

#include "lab/task/geometry/geometry.h"
#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/random.h"

namespace tessera::task {

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

struct PointTaskConfig {
  int64_t min_points = 5;
  int64_t max_points = 20;
  int64_t most_points = 20;
  PointFeatures features = PointFeatures::kShuffled;
  PointCoordinates coordinates = PointCoordinates::kUnit;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("min_points", min_points, "minimum number of points", config::at_least(3));
    field("max_points", max_points,
          "maximum number of points, of tours up to 16; a batch shares one number",
          config::at_least(3));
    field("most_points", most_points,
          "maximum number of points a model of this task can name: its width",
          config::between(3, 4096));
    field("features", features, "shuffled for training, identity as the published test sets");
    field("coordinates", coordinates,
          "unit: in 0 to 1 as published; standard: with mean 0 and deviation 1");
  }
};

/// Its own default, of tours that can be found.
struct TravellingSalesmanConfig : PointTaskConfig {
  TravellingSalesmanConfig(const PointTaskConfig& config = {.max_points = 10})
      : PointTaskConfig(config) {}
};

/// What a model answers about points in the unit square (Vinyals et al. 2015; Le et al. 2020,
/// section 3.3, appendix H): it names those of the solution in order, and then the end. Inputs and
/// answers as encode_points() lays them out.
class PointTask : public ConfiguredTask<PointTaskConfig> {
 public:
  TaskShape shape() const override;
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  /// {"index", "points", "features", "answer"}: answer in places of points, from 0.
  config::Json describe(uint64_t seed, int64_t index) const override;

  /// The points of a sample.
  PointSet points(uint64_t seed, int64_t index, int64_t size_of) const;

 protected:
  /// Throws UsageError on sizes out of bounds and unless min_points <= max_points <= min(limit,
  /// most_points).
  PointTask(const PointTaskConfig& config, int64_t limit);

  /// Places of the points that are named.
  virtual std::vector<int64_t> solution(std::span<const Point> points) const = 0;
};

/// Convex hull: name the corners of the hull of N points, counter-clockwise from the corner that
/// came first in the input.
class ConvexHull : public PointTask {
 public:
  explicit ConvexHull(const PointTaskConfig& config);

  /// Guessing among the points and the end; the corners in random order, then the end; and the
  /// corners in the order of the input, then the end. Means over 1000 samples.
  std::vector<Level> levels() const override;
  bool pads_answers() const override { return true; }

 protected:
  std::vector<int64_t> solution(std::span<const Point> points) const override;
};

/// Travelling salesman: name the points of a shortest closed tour, from the first point of the
/// input; the way back to it is the class of the end.
/// Differs from the published data: of the two directions always the one whose second point came
/// earlier in the input; there it is arbitrary, which caps the accuracy.
class TravellingSalesman : public PointTask {
 public:
  using Config = TravellingSalesmanConfig;

  explicit TravellingSalesman(const PointTaskConfig& config);

  /// Also "length", that of the tour.
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Guessing among the points and the end; any tour from the first point, then the end; and the
  /// points in the order of the input, then the end.
  std::vector<Level> levels() const override;

 protected:
  std::vector<int64_t> solution(std::span<const Point> points) const override;
};

}  // namespace tessera::task
