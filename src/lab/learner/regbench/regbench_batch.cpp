#include "lab/learner/regbench/regbench_batch.h"

#include <ATen/ATen.h>

#include <limits>

#include "tessera/tensor/check.h"

namespace tessera::task {

namespace {

double share(double part, int64_t whole) {
  return whole > 0 ? part / static_cast<double>(whole) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

RegBenchBatch make_regbench_batch(const RegBench& task, const RegBenchSet& set,
                                  std::span<const int64_t> automata) {
  RegBenchArrays arrays = make_regbench_arrays(task, set, automata);
  const auto tensor = [](auto& numbers, at::IntArrayRef shape, at::ScalarType type) {
    return at::from_blob(numbers.data(), shape, type).clone();
  };
  const auto B = arrays.sequences, T = arrays.steps;
  return {.inputs = tensor(arrays.inputs, {B, T}, at::kLong),
          .targets = tensor(arrays.targets, {B, T}, at::kLong),
          .truth = tensor(arrays.truth, {B, T, arrays.vocabulary}, at::kFloat)};
}

RegBenchScore& RegBenchScore::operator+=(const RegBenchScore& other) {
  answers += other.answers;
  legal += other.legal;
  positions += other.positions;
  variation += other.variation;
  return *this;
}

double RegBenchScore::accuracy() const {
  return share(static_cast<double>(legal), answers);
}

double RegBenchScore::distance() const {
  return share(variation, positions);
}

RegBenchScore score_regbench(const at::Tensor& logits, const RegBenchBatch& batch) {
  check_shape(logits, {batch.truth.size(0), batch.truth.size(1), batch.truth.size(2)},
              "score_regbench: logits");
  const at::Tensor truth = batch.truth.to(logits.device());
  const at::Tensor is_read = truth.sum(-1) > 0;  // [B, T]
  const at::Tensor is_answer = (batch.targets != RegBenchArrays::kNotCounted).to(logits.device());
  const at::Tensor choice = logits.argmax(-1, /*keepdim=*/true);         // [B, T, 1]
  const at::Tensor is_legal = truth.gather(-1, choice).squeeze(-1) > 0;  // [B, T]
  const at::Tensor distances = 0.5 * (logits.softmax(-1) - truth).abs().sum(-1, false, at::kDouble);
  return {.answers = is_answer.sum().item<int64_t>(),
          .legal = is_legal.logical_and(is_answer).sum().item<int64_t>(),
          .positions = is_read.sum().item<int64_t>(),
          .variation = (distances * is_read).sum().item<double>()};
}

}  // namespace tessera::task
