#pragma once

#include <ATen/core/Tensor.h>

#include "lab/task/sequence/task_batch.h"

namespace tessera::task {

/// The tours that a model answered with, beside the shortest ones. Scores add up.
struct TourScore {
  int64_t tours = 0;
  int64_t valid_tours = 0;     ///< that visit each point once before the end
  double length = 0;           ///< of the valid tours, summed
  double shortest_length = 0;  ///< of the shortest tours through the same points, summed

  TourScore& operator+=(const TourScore& other);
  /// Mean length of the valid tours, and of the shortest ones through the same points; NaN where
  /// there is no valid one.
  double mean_length() const;
  double mean_shortest_length() const;
};

/// batch: of the task travelling_salesman; logits [T, B, classes]. The paper does not say how it
/// counts answers that are no tours: here they have no length and are counted apart.
/// Throws UsageError on another shape.
TourScore score_tours(const at::Tensor& logits, const TaskBatch& batch);

}  // namespace tessera::task
