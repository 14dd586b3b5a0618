#include "tessera/infer/detail/piece_scorer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <span>
#include <utility>

#include "tessera/base/consecutive.h"
#include "tessera/infer/read_pieces.h"
#include "tessera/infer/streaming_session.h"
#include "tessera/model/language_model.h"

namespace tessera {
namespace {

constexpr int64_t kChunkLogits = 1 << 23;  // floats of logits that exist at once

/// hidden [N, C] before each of `targets` [N] -> their scores.
std::vector<ScoredToken> score_rows(LanguageModel& model, const at::Tensor& hidden,
                                    std::span<const int64_t> targets, int64_t alternatives) {
  const int64_t V = model.vocabulary(), N = hidden.size(0);
  const int64_t rows = std::max<int64_t>(1, kChunkLogits / V);
  std::vector<ScoredToken> scores(N);
  for (int64_t first = 0; first < N; first += rows) {
    const int64_t count = std::min(rows, N - first);
    const at::Tensor logits =
        model.logits(hidden.narrow(0, first, count)).to(at::kCPU, at::kFloat).contiguous();
    at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const TokenDistribution next({logits.data_ptr<float>() + row * V, static_cast<size_t>(V)});
        const int64_t target = targets[first + row];
        scores[first + row] =
            next.score(target == kFirstChoice ? next.most_probable() : target, alternatives);
      }
    });
  }
  return scores;
}

}  // namespace

PieceScorer::PieceScorer(LanguageModel& model, std::vector<TextPiece> pieces, int64_t alternatives)
    : model_(model),
      pieces_(std::move(pieces)),
      alternatives_(alternatives),
      order_(consecutive<size_t>(pieces_.size())),
      scores_(pieces_.size()) {
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return pieces_[a].tokens.size() > pieces_[b].tokens.size();
  });
}

bool PieceScorer::advance(int64_t tokens) {
  at::NoGradGuard no_grad;
  if (next_ == order_.size()) return true;
  const auto longest = std::ssize(pieces_[order_[next_]].tokens);
  if (state_ || longest > tokens)
    read_part(std::min(tokens, kPieceTokens));
  else
    read_batch(static_cast<size_t>(tokens / longest));
  return next_ == order_.size();
}

/// Goes on with the next piece, which is long.
void PieceScorer::read_part(int64_t tokens) {
  const TextPiece& piece = pieces_[order_[next_]];
  const int64_t length = std::ssize(piece.tokens) - 1;  // the last token is only predicted
  const int64_t end = std::min(read_ + tokens, length);
  const Tokens part(piece.tokens.begin() + read_, piece.tokens.begin() + end);
  SequenceState before = state_ ? *std::exchange(state_, {}) : model_.empty_state();
  SequenceOutput read = model_.read(padded({part}), std::move(before));
  // The token that follows number i of the part is scored, from the piece's first one on.
  const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(piece.first) - 1 - read_);
  if (const int64_t count = std::ssize(part) - first; count > 0) {
    const auto scored =
        score_rows(model_, read.outputs[0].narrow(0, first, count),
                   std::span(piece.tokens).subspan(read_ + first + 1, count), alternatives_);
    auto& scores = scores_[order_[next_]];
    scores.insert(scores.end(), scored.begin(), scored.end());
  }
  read_ = end;
  if (read_ < length) {
    state_ = std::move(read.state);
  } else {
    read_ = 0;
    ++next_;
  }
}

/// The next pieces, which are of similar length, side by side.
void PieceScorer::read_batch(size_t rows) {
  const auto batch = std::span(order_).subspan(next_, std::min(rows, order_.size() - next_));
  std::vector<Tokens> read;
  for (const size_t piece : batch)
    read.emplace_back(pieces_[piece].tokens.begin(), pieces_[piece].tokens.end() - 1);
  const at::Tensor hidden = model_.hidden(padded(read));  // [B, T, C]
  for (size_t row = 0; row < batch.size(); ++row) {
    const TextPiece& piece = pieces_[batch[row]];
    const auto count = static_cast<int64_t>(piece.tokens.size() - piece.first);
    scores_[batch[row]] =
        score_rows(model_, hidden[row].narrow(0, static_cast<int64_t>(piece.first) - 1, count),
                   std::span(piece.tokens).subspan(piece.first), alternatives_);
  }
  next_ += batch.size();
}

}  // namespace tessera
