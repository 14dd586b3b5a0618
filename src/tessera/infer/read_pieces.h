#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "tessera/model/sequence_model.h"

namespace tessera {

class LanguageModel;

/// Tokens of a long text that are read in one pass: enough for large matrix products, and few
/// enough that a signal is noticed soon.
constexpr int64_t kPieceTokens = 1024;

/// What is read: hidden [B, t, C] of the tokens from `first` on.
using OnHidden = std::function<void(const at::Tensor& hidden, int64_t first)>;

/// Reads tokens [B, T] on from `state`, kPieceTokens of each sequence at a time; returns the state
/// after them. No gradients. While an InterruptGuard lives, a signal ends it between two pieces: it
/// throws Interrupted. Throws what LanguageModel::read throws. What it throws after the first piece
/// takes the state with it: pass a copy where the old state is still needed then.
SequenceState read_pieces(LanguageModel& model, const at::Tensor& tokens, SequenceState&& state,
                          const OnHidden& on_hidden);

}  // namespace tessera
