#include "lab/learner/sequence/task_batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "tessera/tensor/check.h"

namespace tessera::task {
namespace {

/// What is said and asked at the n steps that answer, in the order of `batch.answers`.
struct Answers {
  at::Tensor outputs;  ///< [n, out]
  at::Tensor targets;  ///< [n, out], or classes [n]
};

/// outputs: of the last steps [T', B, out], or of the answers alone [n, out].
Answers answers_of(const at::Tensor& outputs, const TaskBatch& batch) {
  constexpr const char* what = "the outputs";
  const bool classes = batch.kind == TargetKind::kClasses;
  const int64_t T = batch.answers.size(0), width = classes ? -1 : batch.targets.size(2);
  Answers answers = {outputs, batch.targets.index({batch.answers})};
  if (outputs.dim() == 2) {
    check_shape(outputs, {answers.targets.size(0), width}, what);
  } else {
    check_shape(outputs, {-1, batch.answers.size(1), width}, what);
    TESSERA_CHECK(T - batch.first_answer <= outputs.size(0) && outputs.size(0) <= T, what, " have ",
                  outputs.size(0), " steps, expected ", T - batch.first_answer, " to ", T);
    answers.outputs = outputs.index({batch.answers.slice(0, T - outputs.size(0))});
  }
  if (classes) {
    const int64_t most = batch.targets.max().item().toLong(), named = answers.outputs.size(1);
    TESSERA_CHECK(most < named, what, " name ", named, " classes, but class ", most,
                  " is asked for");
  }
  return answers;
}

/// Which symbols are wrong: [n, out] of bits and vectors, [n, 1] of classes.
at::Tensor wrong_symbols(const Answers& answers, const TaskBatch& batch) {
  const auto& [outputs, targets] = answers;
  if (batch.kind == TargetKind::kVectors)
    return (outputs - targets).abs().le(batch.clip).logical_not();  // also not a number
  if (batch.kind == TargetKind::kBits)
    return outputs.gt(0).ne(targets.gt(0)).logical_or(outputs.isnan());
  return outputs.argmax(-1).ne(targets).logical_or(outputs.isnan().any(-1)).unsqueeze(-1);
}

}  // namespace

TaskBatch TaskBatch::to(const at::Device& device) const {
  return {inputs.to(device), targets.to(device), answers.to(device), first_answer, kind, clip};
}

TaskBatch make_batch(const SequenceTask& task, uint64_t seed, std::span<const int64_t> samples,
                     BatchSizes sizes) {
  SampleArrays arrays = make_arrays(task, seed, samples, sizes);
  const auto tensor = [&](auto& numbers, int64_t width, at::ScalarType type) {
    std::vector<int64_t> shape = {arrays.steps, arrays.samples};
    if (width > 0) shape.push_back(width);
    return at::from_blob(numbers.data(), shape, type).clone();
  };
  const bool tokens = arrays.shape.vocabulary > 0;
  const bool classes = arrays.shape.targets == TargetKind::kClasses;
  return {.inputs = tokens ? tensor(arrays.tokens, 0, at::kLong)
                           : tensor(arrays.inputs, arrays.shape.input_width, at::kFloat),
          .targets = classes ? tensor(arrays.classes, 0, at::kLong)
                             : tensor(arrays.targets, arrays.shape.output_width, at::kFloat),
          .answers = tensor(arrays.answers, 0, at::kBool),
          .first_answer = arrays.first_answer,
          .kind = arrays.shape.targets,
          .clip = arrays.shape.clip};
}

at::Tensor answer_loss(const at::Tensor& outputs, const TaskBatch& batch) {
  const auto [asked, targets] = answers_of(outputs, batch);
  switch (batch.kind) {
    case TargetKind::kBits:
      return at::binary_cross_entropy_with_logits(asked, targets.to(asked.scalar_type()));
    case TargetKind::kClasses:
      return at::cross_entropy_loss(asked, targets);
    case TargetKind::kVectors:
      return (asked - targets).clamp(-batch.clip, batch.clip).square().mean();
  }
  TORCH_INTERNAL_ASSERT(false, "a kind of targets without a loss");
}

TaskScore score_answers(const at::Tensor& outputs, const TaskBatch& batch) {
  const Answers answers = answers_of(outputs.detach(), batch);
  const at::Tensor wrong = wrong_symbols(answers, batch);
  const at::Tensor columns = batch.answers.nonzero().select(1, 1);  // [n]: of which sequence
  const at::Tensor wrong_of =
      at::zeros({batch.answers.size(1)}, columns.options()).index_add(0, columns, wrong.sum(1));
  TaskScore score{.sequences = batch.answers.size(1),
                  .perfect_sequences = wrong_of.eq(0).sum().item().toLong(),
                  .symbols = wrong.numel(),
                  .wrong_symbols = wrong_of.sum().item().toLong()};
  if (batch.kind == TargetKind::kVectors)
    score.absolute_error =
        (answers.outputs - answers.targets).abs().sum(at::kDouble).item().toDouble();
  return score;
}

int64_t padding_steps(std::span<const int64_t> lengths) {
  constexpr size_t kTogether = 128;
  int64_t steps = 0;
  for (; !lengths.empty(); lengths = lengths.subspan(std::min(kTogether, lengths.size()))) {
    const auto together = lengths.first(std::min(kTogether, lengths.size()));
    for (const int64_t length : together) steps += std::ranges::max(together) - length;
  }
  return steps;
}

double share(double part, int64_t whole) {
  return whole == 0 ? std::numeric_limits<double>::quiet_NaN() : part / static_cast<double>(whole);
}

TaskScore& TaskScore::operator+=(const TaskScore& other) {
  sequences += other.sequences;
  perfect_sequences += other.perfect_sequences;
  symbols += other.symbols;
  wrong_symbols += other.wrong_symbols;
  padding += other.padding;
  absolute_error += other.absolute_error;
  return *this;
}

double TaskScore::wrong_per_sequence() const {
  return share(static_cast<double>(wrong_symbols), sequences);
}
double TaskScore::accuracy() const {
  return share(static_cast<double>(symbols - wrong_symbols), symbols);
}
double TaskScore::padded_accuracy() const {
  return share(static_cast<double>(symbols + padding - wrong_symbols), symbols + padding);
}
double TaskScore::perfect_share() const {
  return share(static_cast<double>(perfect_sequences), sequences);
}
double TaskScore::mean_absolute_error() const {
  return share(absolute_error, symbols);
}

}  // namespace tessera::task
