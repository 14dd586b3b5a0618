#include "lab/task/regbench/regbench_batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/error.h"
#include "tessera/tensor/check.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera::task {

namespace {

constexpr int64_t kNotCounted = -1;  // as LanguageModel::loss() reads targets

double share(double part, int64_t whole) {
  return whole > 0 ? part / static_cast<double>(whole) : std::numeric_limits<double>::quiet_NaN();
}

/// Writes a sequence into one row of a batch.
void fill_row(const RegBench& task, const Automaton& automaton, const RegBenchSequence& sequence,
              int64_t* inputs, int64_t* targets, float* truth) {
  for (size_t t = 0; t + 1 < sequence.tokens.size(); ++t) {
    inputs[t] = sequence.tokens[t];
    const int64_t next = sequence.tokens[t + 1];
    targets[t] = next == task.separator() ? kNotCounted : next;
    const auto probabilities = task.next_symbol(automaton, sequence.states[t]);
    std::copy(probabilities.begin(), probabilities.end(), truth + t * probabilities.size());
  }
}

}  // namespace

RegBenchBatch make_regbench_batch(const RegBench& task, const RegBenchSet& set,
                                  std::span<const int64_t> automata) {
  check_argument(!automata.empty(), "make_regbench_batch: there are no sequences");
  std::vector<Automaton> languages;
  std::vector<RegBenchSequence> sequences;
  size_t longest = 0;
  for (const int64_t index : automata) {
    languages.push_back(task.automaton(set.automata, index));
    sequences.push_back(task.sequence(languages.back(), set.sequences, index));
    longest = std::max(longest, sequences.back().tokens.size());
  }
  const auto B = std::ssize(automata), T = static_cast<int64_t>(longest) - 1;
  const int64_t V = task.vocabulary();
  const RegBenchBatch batch{.inputs = at::full({B, T}, task.padding(), at::kLong),
                            .targets = at::full({B, T}, kNotCounted, at::kLong),
                            .truth = at::zeros({B, T, V})};
  for (int64_t row = 0; row < B; ++row)
    fill_row(task, languages[static_cast<size_t>(row)], sequences[static_cast<size_t>(row)],
             batch.inputs.data_ptr<int64_t>() + row * T,
             batch.targets.data_ptr<int64_t>() + row * T,
             batch.truth.data_ptr<float>() + row * T * V);
  return batch;
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
  const at::Tensor is_answer = (batch.targets != kNotCounted).to(logits.device());
  const at::Tensor choice = logits.argmax(-1, /*keepdim=*/true);         // [B, T, 1]
  const at::Tensor is_legal = truth.gather(-1, choice).squeeze(-1) > 0;  // [B, T]
  const at::Tensor distances = 0.5 * (logits.softmax(-1) - truth).abs().sum(-1, false, at::kDouble);
  return {.answers = is_answer.sum().item<int64_t>(),
          .legal = is_legal.logical_and(is_answer).sum().item<int64_t>(),
          .positions = is_read.sum().item<int64_t>(),
          .variation = (distances * is_read).sum().item<double>()};
}

namespace {

void check_sequences(int64_t first, int64_t count) {
  check_range(count, 1, 100'000'000, "the number of sequences");
  check_range(first, 0, int64_t{1} << 60, "the first sequence");
}

}  // namespace

void write_regbench_jsonl(const RegBench& task, const RegBenchSet& set, int64_t first,
                          int64_t count, const std::function<void(std::string_view)>& write) {
  check_sequences(first, count);
  for (int64_t index = first; index < first + count; ++index)
    write(task.describe(set.automata, set.sequences, index).dump() + '\n');
}

void write_regbench_tensors(const RegBench& task, const RegBenchSet& set, int64_t first,
                            int64_t count, const std::filesystem::path& path) {
  check_sequences(first, count);
  std::vector<int64_t> automata(static_cast<size_t>(count));
  std::iota(automata.begin(), automata.end(), first);
  const RegBenchBatch batch = make_regbench_batch(task, set, automata);
  save_tensors(path, {{"inputs", batch.inputs}, {"targets", batch.targets}, {"truth", batch.truth}},
               {{"automata_seed", std::to_string(set.automata)},
                {"sequences_seed", std::to_string(set.sequences)},
                {"first_sequence", std::to_string(first)}});
}

}  // namespace tessera::task
