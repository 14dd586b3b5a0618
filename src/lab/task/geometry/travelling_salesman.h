#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/task/geometry/points.h"
#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

/// Length of the closed tour that visits the points in this order.
double tour_length(std::span<const Point> points, std::span<const int64_t> order);

/// Most points of shortest_tour: its table has N · 2^N entries.
inline constexpr int64_t kMostTourPoints = 16;

/// A shortest closed tour through all points, which begins at point 0: exact, by Held & Karp 1962.
/// Of its two directions the one whose second point has the lower place.
/// Throws UsageError on no points or more than kMostTourPoints.
std::vector<int64_t> shortest_tour(std::span<const Point> points);

struct TravellingSalesmanConfig {
  int64_t min_points = 5;
  int64_t max_points = 10;
  int64_t most_points = 20;
  PointFeatures features = PointFeatures::kShuffled;
  PointCoordinates coordinates = PointCoordinates::kUnit;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("min_points", min_points, "fewest points");
    field("max_points", max_points,
          "maximum number of points, up to 16; a batch shares one number");
    field("most_points", most_points,
          "maximum number of points a model of this task can name: its width");
    field("features", features, "shuffled for training, identity as the published test sets");
    field("coordinates", coordinates,
          "unit: in 0 to 1 as published; standard: with mean 0 and deviation 1");
  }
};

/// Travelling salesman (Vinyals et al. 2015; Le et al. 2020, section 3.3, appendix H): name the
/// points of a shortest closed tour, from the first point of the input. Inputs and answers as
/// encode_points() lays them out; the way back to the first point is the class of the end.
/// Differs from the published data: of the two directions always the one whose second point came
/// earlier in the input; there it is arbitrary, which caps the accuracy.
class TravellingSalesman : public SequenceTask {
 public:
  /// Throws UsageError unless 3 <= min_points <= max_points <= min(16, most_points) and
  /// most_points <= 4096.
  explicit TravellingSalesman(const TravellingSalesmanConfig& config);

  using SequenceTask::sample;
  TaskShape shape() const override;
  TaskSample sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  /// Also "length", that of the tour.
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Guessing among the points and the end; and any tour from the first point, then the end.
  std::vector<Level> levels() const override;

  /// The points of a sample.
  PointSet points(uint64_t seed, int64_t index, int64_t size_of) const;

 private:
  TravellingSalesmanConfig config_;
};

}  // namespace tessera::task
