#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "lab/task/sequence/sample_arrays.h"

namespace tessera::task {

/// SampleArrays as tensors.
struct TaskBatch {
  at::Tensor inputs;   ///< [T, B, in] float, or tokens [T, B] int64
  at::Tensor targets;  ///< bits or vectors [T, B, out] float, or classes [T, B] int64; 0 where none
                       ///< is asked for
  at::Tensor answers;  ///< [T, B] bool: the steps that answer
  int64_t first_answer = 0;  ///< no step before it answers
  TargetKind kind = TargetKind::kBits;
  double clip = 0;  ///< of the error in a vector

  TaskBatch to(const at::Device& device) const;
};

/// The samples with these numbers. On the CPU. Throws UsageError on no samples.
TaskBatch make_batch(const SequenceTask& task, uint64_t seed, std::span<const int64_t> samples,
                     BatchSizes sizes = BatchSizes::kShared);

/// Mean loss over all that is asked for. Of bits and classes, in nats: binary cross-entropy of the
/// logistic function, or cross-entropy of the softmax. Of the numbers of vectors: the square of
/// the error clipped to ±clip. outputs: of the last steps, at least those from the first answer on,
/// [T - t, B, out] with t <= first_answer; or of the steps that answer alone, [n, out], as
/// indexing by `answers` gives them -> scalar. Throws UsageError on another shape.
at::Tensor answer_loss(const at::Tensor& outputs, const TaskBatch& batch);

/// part / whole; NaN where the whole is 0.
double share(double part, int64_t whole);

/// Right and wrong answers; scores of several batches add up.
struct TaskScore {
  int64_t sequences = 0;
  int64_t perfect_sequences = 0;  ///< without any wrong symbol
  int64_t symbols = 0;            ///< bits, classes or numbers that were asked for
  /// A bit by the sign of its logit, a class by the largest, a number by an error above the clip.
  int64_t wrong_symbols = 0;
  int64_t padding = 0;        ///< symbols that pad answers, as padding_steps() counts them
  double absolute_error = 0;  ///< summed over all numbers; 0 of bits and classes

  TaskScore& operator+=(const TaskScore& other);
  bool operator==(const TaskScore&) const = default;

  /// Wrong bits (or classes) per sequence; NaN before the first sequence, as the others.
  double wrong_per_sequence() const;
  /// Share of right symbols.
  double accuracy() const;
  /// The same if padding counts as right.
  double padded_accuracy() const;
  double perfect_share() const;
  double mean_absolute_error() const;
};

/// outputs: as for answer_loss(). Throws UsageError on another shape. An output that is not a
/// number counts as wrong. Counts no padding.
TaskScore score_answers(const at::Tensor& outputs, const TaskBatch& batch);

/// The steps that answers of these lengths lack to the longest of each 128 in a row, which is the
/// paper's batch, whatever batches they are computed in.
int64_t padding_steps(std::span<const int64_t> lengths);

}  // namespace tessera::task
