#pragma once

#include "lab/task/sequence/bit_rows.h"
#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

struct PrioritySortConfig {
  int64_t bits = 32;
  int64_t vectors = 20;
  int64_t answers = 16;
  double least_gap = 0;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("bits", bits, "width of a vector", config::between(1, 65536));
    field("vectors", vectors, "vectors in the input", config::between(1, 65536));
    field("answers", answers, "vectors to return, those of the highest priorities",
          config::at_least(1));
    field("least_gap", least_gap, "least difference between two priorities of a sequence",
          config::at_least(0));
  }
};

/// Priority sort (Graves et al. 2014; Le et al. 2020, section 3.2): return vectors in the order of
/// a number that came with each. Input rows of bits + 2 channels: random bits, then the priority,
/// uniform in [-1, 1) among those that least_gap allows, then a channel that stays 0. At the rows
/// of zeros that follow, the answer is the vectors of the highest priorities, highest first; equal
/// ones in the order of the input.
class PrioritySort : public ConfiguredTask<PrioritySortConfig> {
 public:
  /// Throws UsageError on sizes out of bounds, more answers than vectors, or gaps for which there
  /// is no room.
  explicit PrioritySort(const PrioritySortConfig& config);

  TaskShape shape() const override;
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Guessing each bit, and sorting by priorities that are known in steps of 0.01 only, which
  /// solves the task coarsely: half of the bits are wrong of each vector that is guessed or that
  /// stands in the place of another.
  std::vector<Level> levels() const override;

 private:
  struct Vectors {
    BitRows rows;
    std::vector<float> priorities;
  };
  Vectors draw(uint64_t seed, int64_t index) const;
};

/// Places of the `count` highest priorities, highest first; of equal ones the first comes first.
/// count <= priorities.size().
std::vector<int64_t> highest_priorities(std::span<const float> priorities, int64_t count);

}  // namespace tessera::task
