#include "lab/task/regbench/regbench_arrays.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/task/sequence/sequence_task.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/base/safetensors.h"

namespace tessera::task {
namespace {

/// Writes a sequence into row b.
void fill_row(const RegBench& task, const Automaton& automaton, const RegBenchSequence& sequence,
              int64_t b, RegBenchArrays& arrays) {
  const auto row = static_cast<size_t>(b * arrays.steps);
  for (size_t t = 0; t + 1 < sequence.tokens.size(); ++t) {
    arrays.inputs[row + t] = sequence.tokens[t];
    const int64_t next = sequence.tokens[t + 1];
    arrays.targets[row + t] = next == task.separator() ? RegBenchArrays::kNotCounted : next;
    const auto probabilities = task.next_symbol(automaton, sequence.states[t]);
    std::copy(probabilities.begin(), probabilities.end(),
              arrays.truth.begin() + static_cast<int64_t>(row + t) * arrays.vocabulary);
  }
}

void check_sequences(int64_t first, int64_t count) {
  check_range(count, 1, 100'000'000, "the number of sequences");
  check_range(first, 0, int64_t{1} << 60, "the first sequence");
}

}  // namespace

RegBenchArrays make_regbench_arrays(const RegBench& task, const RegBenchSet& set,
                                    std::span<const int64_t> automata) {
  check_argument(!automata.empty(), "a batch of RegBench: there are no sequences");
  std::vector<Automaton> languages;
  std::vector<RegBenchSequence> sequences;
  RegBenchArrays arrays{.sequences = std::ssize(automata), .vocabulary = task.vocabulary()};
  for (const int64_t index : automata) {
    languages.push_back(task.automaton(set.automata, index));
    sequences.push_back(task.sequence(languages.back(), set.sequences, index));
    arrays.steps = std::max(arrays.steps, std::ssize(sequences.back().tokens) - 1);
  }
  const auto places = static_cast<size_t>(arrays.sequences * arrays.steps);
  arrays.inputs.assign(places, task.padding());
  arrays.targets.assign(places, RegBenchArrays::kNotCounted);
  arrays.truth.assign(places * static_cast<size_t>(arrays.vocabulary), 0);
  for (int64_t b = 0; b < arrays.sequences; ++b)
    fill_row(task, languages[static_cast<size_t>(b)], sequences[static_cast<size_t>(b)], b, arrays);
  return arrays;
}

void write_regbench_jsonl(const RegBench& task, const RegBenchSet& set, int64_t first,
                          int64_t count, const std::function<void(std::string_view)>& write) {
  check_sequences(first, count);
  for (int64_t index = first; index < first + count; ++index)
    write(task.describe(set.automata, set.sequences, index).dump() + '\n');
}

void write_regbench_tensors(const RegBench& task, const RegBenchSet& set, int64_t first,
                            int64_t count, const std::filesystem::path& path) {
  using safetensors::DType;
  check_sequences(first, count);
  const std::vector<int64_t> automata = consecutive(count, first);
  const RegBenchArrays arrays = make_regbench_arrays(task, set, automata);
  const auto [B, T, V] = std::tuple(arrays.sequences, arrays.steps, arrays.vocabulary);
  const auto bytes = [](const auto& numbers) { return std::as_bytes(std::span(numbers)); };
  safetensors::write(path,
                     {{"inputs", {DType::kI64, {B, T}, bytes(arrays.inputs)}},
                      {"targets", {DType::kI64, {B, T}, bytes(arrays.targets)}},
                      {"truth", {DType::kF32, {B, T, V}, bytes(arrays.truth)}}},
                     {{"automata_seed", std::to_string(set.automata)},
                      {"sequences_seed", std::to_string(set.sequences)},
                      {"first_sequence", std::to_string(first)}});
}

}  // namespace tessera::task
