#pragma once

#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

struct NthFarthestConfig {
  int64_t vectors = 8;
  int64_t dimension = 16;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("vectors", vectors, "number of vectors, which is also the number of answers",
          config::between(2, 4096));
    field("dimension", dimension, "width of a vector", config::between(1, 4096));
  }
};

/// N-th farthest (Santoro et al. 2018; Le et al. 2020, section 3.1): N random vectors, uniform in
/// (-1, 1), with the labels 0 … N-1 in random order; which label has the vector that is k-th
/// farthest from the vector labelled m? k = 0 is the farthest, k = N-1 is m itself.
/// Input rows: vector, one-hot label, one-hot k, one-hot m, the last two the same in every row. The
/// answer is the label, one of N classes, at the last row.
class NthFarthest : public ConfiguredTask<NthFarthestConfig> {
 public:
  /// Throws UsageError on sizes out of bounds.
  using ConfiguredTask::ConfiguredTask;

  TaskShape shape() const override;
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Guessing, 1/N; the plateau 2/N of answering m where k = N-1, else any other label; and ranking
  /// the others by their own lengths, wherever vector m is, measured on 10,000 samples.
  std::vector<Level> levels() const override;

 private:
  struct Question {
    std::vector<std::vector<float>> vectors;
    std::vector<int64_t> labels;
    int64_t k;
    size_t reference;  ///< place of the vector labelled m
  };
  Question draw(uint64_t seed, int64_t index) const;
};

/// Places of the vectors by their distance to vectors[reference], farthest first; of equally
/// distant ones the first comes first, and the reference itself comes last.
std::vector<size_t> farthest_first(const std::vector<std::vector<float>>& vectors,
                                   size_t reference);

}  // namespace tessera::task
