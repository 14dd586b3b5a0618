#pragma once

#include "lab/task/geometry/points.h"
#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

struct PointTaskConfig {
  int64_t min_points = 5;
  int64_t max_points = 20;
  int64_t most_points = 20;
  PointFeatures features = PointFeatures::kShuffled;
  PointCoordinates coordinates = PointCoordinates::kUnit;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("min_points", min_points, "fewest points");
    field("max_points", max_points,
          "maximum number of points, of tours up to 16; a batch shares one number");
    field("most_points", most_points,
          "maximum number of points a model of this task can name: its width");
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
class PointTask : public SequenceTask {
 public:
  using SequenceTask::sample;
  TaskShape shape() const override;
  TaskSample sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  config::Json describe(uint64_t seed, int64_t index) const override;

  /// The points of a sample.
  PointSet points(uint64_t seed, int64_t index, int64_t size_of) const;

 protected:
  /// Throws UsageError unless 3 <= min_points <= max_points <= min(limit, most_points) and
  /// most_points <= 4096. name: for messages.
  PointTask(std::string_view name, const PointTaskConfig& config, int64_t limit);

  /// Places of the points that are named.
  virtual std::vector<int64_t> solution(std::span<const Point> points) const = 0;

  PointTaskConfig config_;
};

/// Convex hull: name the corners of the hull of N points, counter-clockwise from the corner that
/// came first in the input.
class ConvexHull : public PointTask {
 public:
  explicit ConvexHull(const PointTaskConfig& config);

  /// Guessing among the points and the end; and the corners in random order, then the end. Means
  /// over 1000 samples.
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
  explicit TravellingSalesman(const PointTaskConfig& config);

  /// Also "length", that of the tour.
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Guessing among the points and the end; and any tour from the first point, then the end.
  std::vector<Level> levels() const override;

 protected:
  std::vector<int64_t> solution(std::span<const Point> points) const override;
};

}  // namespace tessera::task
