#include "lab/task/geometry/tour_score.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "lab/task/geometry/tour.h"
#include "tessera/tensor/check.h"

namespace tessera::task {
namespace {

/// The points of sequence `b` by their features: feature f at place f - 1.
std::vector<Point> points_by_feature(const at::Tensor& inputs, int64_t b, int64_t count) {
  const auto rows = inputs.narrow(0, 0, count).select(1, b).contiguous();  // [N, 2 + classes]
  const auto features = rows.narrow(1, 3, rows.size(1) - 3).argmax(1).contiguous();
  std::vector<Point> points(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    points.at(static_cast<size_t>(features[i].item().toLong())) = {rows[i][0].item().toDouble(),
                                                                   rows[i][1].item().toDouble()};
  return points;
}

/// The places that these features name, or nothing where they do not name each place once.
std::optional<std::vector<int64_t>> as_tour(const at::Tensor& features) {
  const auto values = features.contiguous();
  std::vector<int64_t> places(values.data_ptr<int64_t>(),
                              values.data_ptr<int64_t>() + values.numel());
  for (int64_t& place : places) --place;
  std::vector<int64_t> sorted = places;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i)) return {};
  return places;
}

}  // namespace

TourScore score_tours(const at::Tensor& logits, const TaskBatch& batch) {
  check_shape(logits, {batch.answers.size(0), batch.answers.size(1), -1}, "score_tours: logits");
  const auto said = logits.detach().argmax(-1).cpu(), inputs = batch.inputs.cpu();  // [T, B]
  const auto targets = batch.targets.cpu(), answers = batch.answers.cpu();
  TourScore score;
  for (int64_t b = 0; b < answers.size(1); ++b) {
    const auto steps = answers.select(1, b).nonzero().squeeze(1);  // N places, then the end
    const int64_t count = steps.size(0) - 1;
    const auto points = points_by_feature(inputs, b, count);
    const auto at_steps = [&](const at::Tensor& classes) {
      return as_tour(classes.select(1, b).index_select(0, steps.narrow(0, 0, count)));
    };
    ++score.tours;
    const auto tour = at_steps(said), shortest = at_steps(targets);
    if (!tour) continue;
    ++score.valid_tours;
    score.length += tour_length(points, *tour);
    score.shortest_length += tour_length(points, shortest.value());
  }
  return score;
}

TourScore& TourScore::operator+=(const TourScore& other) {
  tours += other.tours;
  valid_tours += other.valid_tours;
  length += other.length;
  shortest_length += other.shortest_length;
  return *this;
}

double TourScore::mean_length() const {
  return valid_tours == 0 ? std::numeric_limits<double>::quiet_NaN()
                          : length / static_cast<double>(valid_tours);
}

double TourScore::mean_shortest_length() const {
  return valid_tours == 0 ? std::numeric_limits<double>::quiet_NaN()
                          : shortest_length / static_cast<double>(valid_tours);
}

}  // namespace tessera::task
