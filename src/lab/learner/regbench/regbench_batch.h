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

/// logits [B, T, V]. Throws UsageError on another shape.
/// Accuracy counts every position, not only the last one of a sequence as the text of Zhang et al.
/// 2024 has it: that is what the benchmark's code does. Its code sums |p - q|; the published
/// distances are halves of it.
RegBenchScore score_regbench(const at::Tensor& logits, const RegBenchBatch& batch);

}  // namespace tessera::task
