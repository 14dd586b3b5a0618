#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "lab/task/regbench/regbench.h"

namespace tessera::task {

/// RegBenchArrays as tensors.
struct RegBenchBatch {
  at::Tensor inputs;   ///< [B, T] int64
  at::Tensor targets;  ///< [B, T] int64
  at::Tensor truth;    ///< [B, T, V] float
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

/// logits [B, T, V]; where one is not a number, the choice is not legal. Throws UsageError on
/// another shape. Accuracy counts every position, not only the last one of a sequence as the text
/// of Zhang et al. 2024 has it: that is what the benchmark's code does. Its code sums |p - q|; the
/// published distances are halves of it.
RegBenchScore score_regbench(const at::Tensor& logits, const RegBenchBatch& batch);

/// What somebody predicts who learns nothing beforehand and counts in the sequence itself. tokens:
/// T of them -> [T, V] float: after each token, how often each letter has followed the last
/// `context` tokens so far; where these come for the first time, the last context - 1, and so on;
/// once for every letter before the first one. Separators stand before the first token. Throws
/// UsageError unless context >= 0.
at::Tensor context_counts(const RegBench& task, std::span<const int64_t> tokens, int64_t context);

/// The score of these counts, as shares, on sequences 0 … count - 1 of a set.
RegBenchScore score_context_counts(const RegBench& task, const RegBenchSet& set, int64_t count,
                                   int64_t context);

}  // namespace tessera::task
