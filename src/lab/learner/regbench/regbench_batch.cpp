#include "lab/learner/regbench/regbench_batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "lab/learner/sequence/task_batch.h"
#include "tessera/base/error.h"
#include "tessera/tensor/check.h"

namespace tessera::task {

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
  const at::Tensor choice = logits.argmax(-1, /*keepdim=*/true);  // [B, T, 1]
  const at::Tensor is_legal =                                     // [B, T]
      (truth.gather(-1, choice).squeeze(-1) > 0).logical_and(logits.isnan().any(-1).logical_not());
  const at::Tensor distances = 0.5 * (logits.softmax(-1) - truth).abs().sum(-1, false, at::kDouble);
  return {.answers = is_answer.sum().item<int64_t>(),
          .legal = is_legal.logical_and(is_answer).sum().item<int64_t>(),
          .positions = is_read.sum().item<int64_t>(),
          .variation = (distances * is_read).sum().item<double>()};
}

at::Tensor context_counts(const RegBench& task, std::span<const int64_t> tokens, int64_t context) {
  check_argument(context >= 0, "context_counts: context is {}, expected 0 or more", context);
  using Tokens = std::vector<int64_t>;
  const at::Tensor result = at::zeros({std::ssize(tokens), task.vocabulary()});
  Tokens recent(context, task.separator());
  std::map<Tokens, std::vector<float>> followers;  // of the last 0 to `context` tokens
  for (int64_t t = 0; t < std::ssize(tokens); ++t) {
    const int64_t token = tokens[t];
    if (token != task.separator())
      for (auto first = recent.begin();; ++first) {
        auto& counts = followers[Tokens(first, recent.end())];
        counts.resize(task.vocabulary());
        ++counts.at(token);
        if (first == recent.end()) break;
      }
    recent.push_back(token);
    recent.erase(recent.begin());
    const std::span<float> row(result.data_ptr<float>() + t * task.vocabulary(), task.vocabulary());
    auto found = followers.end();
    for (auto first = recent.begin(); found == followers.end(); ++first) {
      found = followers.find(Tokens(first, recent.end()));
      if (first == recent.end()) break;
    }
    if (found != followers.end())
      std::copy(found->second.begin(), found->second.end(), row.begin());
    else
      std::fill_n(row.begin(), task.config().letters, 1.0F);
  }
  return result;
}

RegBenchScore score_context_counts(const RegBench& task, const RegBenchSet& set, int64_t count,
                                   int64_t context) {
  RegBenchScore score;
  for (int64_t index = 0; index < count; ++index) {
    const RegBenchBatch batch = make_regbench_batch(task, set, {&index, 1});
    const std::span<const int64_t> tokens(batch.inputs.data_ptr<int64_t>(), batch.inputs.numel());
    // The softmax of logarithms is the share of each count.
    const at::Tensor logits = context_counts(task, tokens, context).log().unsqueeze(0);
    score += score_regbench(logits, batch);
  }
  return score;
}

}  // namespace tessera::task
