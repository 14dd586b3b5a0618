#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "lab/learner/babi/babi_data.h"

namespace tessera::task {

/// Readings side by side, as ids of words; 0 is padding.
struct BabiBatch {
  static constexpr int64_t kNoQuestion = -1;

  at::Tensor sentences;  ///< [B, T, W] int64: T sentences of W words
  at::Tensor questions;  ///< [B, C, W] int64
  at::Tensor after;      ///< [B, C] int64: a question is about that many sentences of its row
  at::Tensor answers;    ///< [B, C] int64: an id of the vocabulary, or kNoQuestion
  at::Tensor unseen;     ///< [B, C] bool: test questions that training does not have

  /// How many questions there are in all.
  int64_t count() const;
};

/// These readings of a task (places in data.readings). T and C are those of the longest, W is
/// data.longest_sentence(). On the CPU. Throws UsageError on no readings,
/// std::out_of_range on one that there is not.
BabiBatch make_babi_batch(const BabiData& data, int64_t task, Split split,
                          std::span<const int64_t> readings);

/// All readings of a split in batches of up to `rows`, those of about the same length together.
/// limit: only that many readings, the first ones (0: all).
std::vector<BabiBatch> babi_batches(const BabiData& data, int64_t task, Split split, int64_t rows,
                                    int64_t limit = 0);

/// What one update of joint training is about.
struct BabiDraw {
  int64_t task = 0;
  std::vector<std::vector<int64_t>> parts;  ///< readings; a part has those of about one length
  int64_t questions = 0;                    ///< of all parts
};

/// What step `step` of joint training draws (Schlag & Schmidhuber 2018): one task, each as likely,
/// then readings of its training stories, with replacement, until there are `questions` questions
/// and a reading for each of `parts` parts. A pure function of its arguments.
/// Differs from the paper's code, which draws single questions and reads a story for each.
BabiDraw draw_babi(const BabiData& data, uint64_t seed, int64_t step, int64_t questions,
                   int64_t parts);

/// Cross-entropy of all questions together, in nats. logits [B, C, V]. This and the next throw
/// UsageError on another shape.
at::Tensor babi_loss(const at::Tensor& logits, const BabiBatch& batch);

/// Which of the batch's answers are wrong, [B, C]; one from logits that are not a number is.
at::Tensor wrong_babi_answers(const at::Tensor& logits, const BabiBatch& batch);

}  // namespace tessera::task
