#include "lab/task/sequence/sample_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"

namespace tessera::task {
namespace {

constexpr int64_t kMostSamples = 100'000'000;

/// Copies rows [n, width] of one sample into column b of [T, B, width], from step `begin` on.
template <typename T>
void copy_column(const std::vector<T>& rows, int64_t width, int64_t begin, int64_t b, int64_t B,
                 std::vector<T>& all) {
  auto to = all.begin() + (begin * B + b) * width;
  for (auto row = rows.begin(); row != rows.end(); row += width, to += B * width)
    std::copy_n(row, width, to);
}

void copy_sample(const TaskSample& sample, int64_t b, SampleArrays& arrays) {
  const TaskShape& shape = arrays.shape;
  const int64_t B = arrays.samples, first = sample.first_answer;
  copy_column(sample.inputs, shape.input_width, 0, b, B, arrays.inputs);
  copy_column(sample.tokens, 1, 0, b, B, arrays.tokens);
  copy_column(sample.bits, shape.output_width, first, b, B, arrays.targets);
  copy_column(sample.vectors, shape.output_width, first, b, B, arrays.targets);
  for (int64_t i = 0; i < sample.answers; ++i) {
    const int64_t place = (first + i) * B + b;
    arrays.answers[place] = 1;
    if (shape.targets != TargetKind::kClasses) continue;
    const int64_t answer = sample.classes[i];
    arrays.answers[place] = answer != kNotAsked;
    arrays.classes[place] = std::max<int64_t>(answer, 0);
  }
}

}  // namespace

SampleArrays make_arrays(const SequenceTask& task, uint64_t seed, std::span<const int64_t> samples,
                         BatchSizes sizes) {
  check_argument(!samples.empty(), "a batch of a task: there are no samples");
  std::vector<TaskSample> drawn;
  for (int64_t index : samples)
    drawn.push_back(
        task.draw_sample(seed, index, sizes == BatchSizes::kShared ? samples.front() : index));
  SampleArrays arrays{.shape = task.shape(), .samples = std::ssize(drawn)};
  for (const TaskSample& sample : drawn) arrays.steps = std::max(arrays.steps, sample.steps);
  arrays.first_answer = arrays.steps;
  const int64_t places = arrays.steps * arrays.samples;
  const bool tokens = arrays.shape.vocabulary > 0;
  const bool classes = arrays.shape.targets == TargetKind::kClasses;
  arrays.inputs.resize(tokens ? 0 : places * arrays.shape.input_width);
  arrays.tokens.resize(tokens ? places : 0);
  arrays.targets.resize(classes ? 0 : places * arrays.shape.output_width);
  arrays.classes.resize(classes ? places : 0);
  arrays.answers.resize(places);
  for (int64_t b = 0; b < arrays.samples; ++b) {
    const TaskSample& sample = drawn[b];
    copy_sample(sample, b, arrays);
    arrays.first_answer = std::min(arrays.first_answer, sample.first_answer);
  }
  return arrays;
}

void check_samples(int64_t first, int64_t count, std::string_view what) {
  check_range(count, 1, kMostSamples, fmt::format("the number of {}s", what));
  check_range(first, 0, int64_t{1} << 60, fmt::format("the first {}", what));
}

void write_jsonl(const SequenceTask& task, uint64_t seed, int64_t first, int64_t count,
                 const std::function<void(std::string_view)>& write) {
  check_samples(first, count, "sample");
  for (int64_t index = first; index < first + count; ++index)
    write(task.describe(seed, index).dump() + '\n');
}

void write_tensors(const SequenceTask& task, uint64_t seed, int64_t first, int64_t count,
                   const std::filesystem::path& path) {
  check_samples(first, count, "sample");
  const std::vector<int64_t> samples = consecutive(count, first);
  const SampleArrays arrays = make_arrays(task, seed, samples, BatchSizes::kOwn);
  const int64_t T = arrays.steps, B = arrays.samples;
  const auto tensor = [&](const std::vector<float>& numbers, const std::vector<int64_t>& symbols,
                          int64_t width) {
    return numbers.empty() ? tensor_of(symbols, {T, B}) : tensor_of(numbers, {T, B, width});
  };
  const InterruptGuard guard;  // a signal waits until the file is written
  safetensors::write(
      path,
      {{"inputs", tensor(arrays.inputs, arrays.tokens, arrays.shape.input_width)},
       {"targets", tensor(arrays.targets, arrays.classes, arrays.shape.output_width)},
       {"answers", tensor_of(arrays.answers, {T, B})}},
      {{"seed", std::to_string(seed)},
       {"first_sample", std::to_string(first)},
       {"shape", config::to_json(arrays.shape).dump()}});
}

}  // namespace tessera::task
