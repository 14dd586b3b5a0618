#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "lab/task/sequence/sequence_task.h"

namespace tessera::task {

/// A task of one's own: the samples of a file in their order, whatever the seed.
///
/// `.safetensors`, as write_tensors() writes it: `inputs` [T, B, in] (float) or tokens [T, B]
/// (int64); `targets` [T, B, out] (float) or classes [T, B] (int64); `answers` [T, B] (bool), the
/// steps that answer, consecutive in each sequence. The metadata `shape` is a TaskShape as JSON.
///
/// Any other name: JSON lines. Each has "inputs", a list of vectors, or "tokens", a list of whole
/// numbers; "classes", "bits" or "vectors", the answers; and may have "first_answer", the step of
/// the first answer, counted from 0: without it the last steps answer. The first line may be
/// {"shape": …}.
///
/// Where no shape is told it is that of the samples: classes and tokens are as many as the largest
/// one says, floats are bits where all are 0 or 1, and no error in a vector is clipped.
class FileTask : public SequenceTask {
 public:
  /// shape: what the samples have to be; none: as the file tells it. Throws SystemError, and
  /// DataError on a file that is damaged, has no samples or others.
  explicit FileTask(const std::filesystem::path& path,
                    const std::optional<TaskShape>& shape = std::nullopt);

  TaskShape shape() const override { return shape_; }
  std::optional<int64_t> samples() const override { return std::ssize(samples_); }
  TaskSample draw_sample(uint64_t seed, int64_t index, int64_t size_of) const override;
  /// Nothing: its samples stand in a file.
  config::Json describe(uint64_t seed, int64_t index) const override;
  /// None.
  std::vector<Level> levels() const override { return {}; }
  bool pads_answers() const override { return true; }

 private:
  TaskShape shape_;
  std::vector<TaskSample> samples_;
};

}  // namespace tessera::task
