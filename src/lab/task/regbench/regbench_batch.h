#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "lab/task/regbench/regbench.h"

namespace tessera::task {

/// Which languages, and which sequences of them: two seeds of RegBench. Sets with the same automata
/// and other sequences are new strings of known languages.
struct RegBenchSet {
  uint64_t automata = 0;
  uint64_t sequences = 0;
};

/// Sequences side by side: what a language model reads, what it is to say, and the truth.
struct RegBenchBatch {
  at::Tensor inputs;   ///< [B, T] int64: all tokens of a sequence but the last, then padding
  at::Tensor targets;  ///< [B, T] int64: the next token; -1 where that is a separator or padding
  at::Tensor truth;    ///< [B, T, V] float: the exact distribution of the next symbol; 0 behind a
                       ///< sequence
};

/// The sequences of these automata. Throws UsageError on no automata.
RegBenchBatch make_regbench_batch(const RegBench& task, const RegBenchSet& set,
                                  std::span<const int64_t> automata);

/// How well next symbols are predicted; scores of several batches add up.
struct RegBenchScore {
  int64_t answers = 0;    ///< positions that are followed by a symbol
  int64_t legal = 0;      ///< those at which the likeliest token is one that the automaton allows
  int64_t positions = 0;  ///< positions that are followed by a symbol or a separator
  double variation = 0;   ///< sum of 1/2 sum_v |p_v - q_v| over them

  RegBenchScore& operator+=(const RegBenchScore& other);

  /// Share of legal symbols (Akyürek et al. 2024, section 3.4); NaN before the first answer.
  double accuracy() const;
  /// Mean total variation distance of the predicted and the exact distribution.
  double distance() const;
};

/// logits [B, T, V]. Throws UsageError on another shape.
/// Accuracy counts every position, not only the last one of a sequence as the text of Zhang et al.
/// 2024 has it: that is what the benchmark's code does. Its code sums |p - q|; the published
/// distances are halves of it.
RegBenchScore score_regbench(const at::Tensor& logits, const RegBenchBatch& batch);

/// Sequences first … first + count - 1 of a set with their automata: one JSON object a line, as
/// RegBench::describe() gives it. write: takes each line, with its end. Throws UsageError on a
/// count below 1 or a first below 0.
void write_regbench_jsonl(const RegBench& task, const RegBenchSet& set, int64_t first,
                          int64_t count, const std::function<void(std::string_view)>& write);

/// The same sequences as one batch: tensors `inputs`, `targets` and `truth` as in RegBenchBatch.
/// The file appears whole or not at all. Throws as write_regbench_jsonl() does, and SystemError.
void write_regbench_tensors(const RegBench& task, const RegBenchSet& set, int64_t first,
                            int64_t count, const std::filesystem::path& path);

}  // namespace tessera::task
