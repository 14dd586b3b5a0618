#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/safetensors.h"

namespace tessera::task {

/// Samples side by side, time first. Shorter ones are followed by zeros that nothing scores.
struct SampleArrays {
  TaskShape shape;
  int64_t steps = 0, samples = 0;     ///< T, B
  std::vector<float> inputs = {};     ///< [T, B, input_width]; empty where the inputs are tokens
  std::vector<int64_t> tokens = {};   ///< [T, B]; empty where the inputs are vectors
  std::vector<float> targets = {};    ///< bits or vectors [T, B, output_width]
  std::vector<int64_t> classes = {};  ///< [T, B]; 0 where none is asked for
  std::vector<uint8_t> answers = {};  ///< [T, B]: 1 at the steps that answer
  int64_t first_answer = 0;           ///< no step before it answers
};

/// Whether the samples of a batch take the sizes of the first, as in training, or each its own.
enum class BatchSizes { kShared, kOwn };

/// The samples with these numbers. Throws UsageError on no samples.
SampleArrays make_arrays(const SequenceTask& task, uint64_t seed, std::span<const int64_t> samples,
                         BatchSizes sizes);

/// Throws UsageError unless count is 1 to 100,000,000 and first not below 0. what: "sample", for
/// messages.
void check_samples(int64_t first, int64_t count, std::string_view what);

/// Numbers as a tensor of a file: of floats, int64, or bool for bytes.
template <typename Number>
safetensors::TensorView tensor_of(const std::vector<Number>& numbers, std::vector<int64_t> shape) {
  using safetensors::DType;
  constexpr DType kType = std::is_same_v<Number, float>     ? DType::kF32
                          : std::is_same_v<Number, int64_t> ? DType::kI64
                                                            : DType::kBool;
  static_assert(kType != DType::kBool || sizeof(Number) == 1);
  return {kType, std::move(shape), std::as_bytes(std::span(numbers))};
}

/// Samples first … first + count - 1 of a task in its own terms, with their ground truth: one JSON
/// object a line, as SequenceTask::describe() gives it. write: takes each line, with its end.
void write_jsonl(const SequenceTask& task, uint64_t seed, int64_t first, int64_t count,
                 const std::function<void(std::string_view)>& write);

/// The same samples as a model sees them, each of its own size: a safetensors file with the tensors
/// `inputs` (float, or tokens int64), `targets` (float, or classes int64) and `answers` (bool) of
/// SampleArrays, and the task's shape as JSON in the metadata `shape`. It appears whole or not at
/// all. Throws SystemError.
void write_tensors(const SequenceTask& task, uint64_t seed, int64_t first, int64_t count,
                   const std::filesystem::path& path);

}  // namespace tessera::task
