#pragma once

#include "lab/task/sequence/bit_rows.h"
#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

struct CopyConfig {
  int64_t bits = 32;
  int64_t min_length = 1;
  int64_t max_length = 20;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("bits", bits, "width of a vector", config::between(1, 65536));
    field("min_length", min_length, "minimum number of vectors to copy", config::at_least(1));
    field("max_length", max_length, "maximum number of vectors to copy; a batch shares one length",
          config::between(1, 65536));
  }
};

/// Copy (Graves et al. 2014; Le et al. 2020, section 3.2): repeat a sequence of random vectors.
/// L vectors, L uniform in [min_length, max_length]. Input rows of bits + 2 channels: a row with
/// channel `bits` set, the L vectors, a row with channel `bits` + 1 set, L rows of zeros. At these
/// last the answer is the L vectors.
class Copy : public ConfiguredTask<CopyConfig> {
 public:
  /// Throws UsageError on sizes out of bounds or an empty range of lengths.
  explicit Copy(const CopyConfig& config);

  TaskShape shape() const override;
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// Guessing each bit: half of them wrong.
  std::vector<Level> levels() const override;

  /// The vectors of a sample.
  BitRows rows(uint64_t seed, int64_t index, int64_t size_of) const;
};

}  // namespace tessera::task
