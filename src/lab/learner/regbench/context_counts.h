#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "lab/learner/regbench/regbench_batch.h"

namespace tessera::task {

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
