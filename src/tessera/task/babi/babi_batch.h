#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "tessera/task/babi/babi_data.h"

namespace tessera::task {

/// Questions side by side, as ids of words; 0 is padding, an ordinary word to the paper's model.
/// Longer stories are cut to their last sentences; shorter ones are followed by sentences of
/// padding.
struct BabiBatch {
  at::Tensor stories;    ///< [T, B, W] int64: T sentences of W words
  at::Tensor sentences;  ///< [B] int64: how many of the T are not padding
  at::Tensor questions;  ///< [B, W] int64
  at::Tensor answers;    ///< [B] int64: an id of the vocabulary

  BabiBatch to(const at::Device& device) const;
};

/// These questions of a task. T is data.story_length(task), W data.longest_sentence(). On the CPU.
/// Throws std::invalid_argument on no questions, std::out_of_range on one that there is not.
BabiBatch make_babi_batch(const BabiData& data, int64_t task, Split split,
                          std::span<const int64_t> questions);

/// What step `step` of joint training draws (Schlag & Schmidhuber 2018): one task, each as likely,
/// then `rows` of its training questions with replacement. A pure function of (seed, step, rows).
BabiBatch joint_babi_batch(const BabiData& data, uint64_t seed, int64_t step, int64_t rows);

/// Wrong answers among the batch's. logits [B, V]. Throws c10::ValueError on another shape.
int64_t wrong_babi_answers(const at::Tensor& logits, const BabiBatch& batch);

}  // namespace tessera::task
