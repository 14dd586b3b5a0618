#include "tessera/infer/scoring.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <span>
#include <utility>

#include "tessera/base/consecutive.h"
#include "tessera/base/interrupt.h"
#include "tessera/model/language_model.h"
#include "tessera/tensor/check.h"

namespace tessera {

/// In place of a token that is scored: the one that the model expects.
constexpr int64_t kFirstChoice = -1;

/// Tokens `first`.. of a piece of text number `text` are scored, the ones before are only read.
/// Only the last may be kFirstChoice.
struct TextPiece {
  size_t text;
  std::vector<int64_t> tokens;  ///< two or more
  size_t first;                 ///< 1 or more
};

/// Scores pieces of texts, a part of the work at a time: pieces of similar length side by side, and
/// a long one in parts.
class PieceScorer {
 public:
  /// The model must outlive it.
  PieceScorer(LanguageModel& model, std::vector<TextPiece> pieces, int64_t alternatives);

  /// Reads at most so many tokens more, filling included, and at least one; of a long piece no more
  /// than kPieceTokens. Returns whether all pieces are scored.
  bool advance(int64_t tokens);

  const std::vector<TextPiece>& pieces() const { return pieces_; }
  /// The scores of each piece, complete once advance() has returned true.
  const std::vector<std::vector<ScoredToken>>& scores() const { return scores_; }

 private:
  void read_part(int64_t tokens);
  void read_batch(size_t rows);

  LanguageModel& model_;
  std::vector<TextPiece> pieces_;
  int64_t alternatives_;
  std::vector<size_t> order_;  // the longest first, so that little of a batch is filling
  std::vector<std::vector<ScoredToken>> scores_;
  size_t next_ = 0;                     // in order_
  std::optional<SequenceState> state_;  // of the next piece, where a part of it is read:
  int64_t read_ = 0;                    // so many tokens
};

namespace {

constexpr int64_t kBatchTokens = 4096;     // read in one pass, filling included; more: part by part
constexpr int64_t kChunkLogits = 1 << 23;  // floats of logits that exist at once

std::vector<TextPiece> pieces_of(const std::vector<Tokens>& texts, size_t window) {
  std::vector<TextPiece> pieces;
  for (size_t text = 0; text < texts.size(); ++text) {
    const Tokens& tokens = texts[text];
    size_t scored = 1;  // the first token has nothing before it
    while (scored < tokens.size()) {
      // window tokens are read, and one more is predicted
      const size_t start = scored == 1 ? 0 : scored - std::max<size_t>(window / 2, 1);
      const size_t end = tokens.size() - start > window ? start + window + 1 : tokens.size();
      pieces.push_back(
          {text, Tokens(tokens.begin() + start, tokens.begin() + end), scored - start});
      scored = end;
    }
  }
  return pieces;
}

/// text: the tokens of text number `number`.
void check_tokens(const LanguageModel& model, const Tokens& text, size_t number) {
  for (int64_t token : text)
    TESSERA_CHECK(token >= 0 && token < model.vocabulary(), "text ", number, ": token ", token,
                  " is outside the model's vocabulary of ", model.vocabulary(),
                  "; was the text encoded by another tokenizer?");
}

bool windowed(const LanguageModel& model, const ScoringOptions& options) {
  return options.reading.value_or(natural_reading(model)) == Reading::kWindowed;
}

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

template <typename Scorer>
void score_all(Scorer& scorer) {
  while (!scorer.advance(kBatchTokens)) InterruptGuard::stop_if_interrupted("interrupted");
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
  tokens = std::max<int64_t>(tokens, 1);
  const auto longest = std::ssize(pieces_[order_[next_]].tokens);
  if (state_ || longest > tokens)
    read_part(std::min(tokens, kPieceTokens));
  else
    read_batch(tokens / longest);
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
    const int64_t count = piece.tokens.size() - piece.first;
    scores_[batch[row]] =
        score_rows(model_, hidden[row].narrow(0, static_cast<int64_t>(piece.first) - 1, count),
                   std::span(piece.tokens).subspan(piece.first), alternatives_);
  }
  next_ += batch.size();
}

TextScorer::TextScorer(LanguageModel& model, const std::vector<Tokens>& texts,
                       const ScoringOptions& options)
    : result_(texts.size()) {
  const size_t window = windowed(model, options) ? model.window() : SIZE_MAX;
  std::vector<Tokens> scored = texts;
  for (size_t text = 0; text < texts.size(); ++text) {
    if (texts[text].empty()) continue;
    check_tokens(model, texts[text], text);
    result_[text].push_back({texts[text].front(), {}, false, {}});
    if (options.predict_next) scored[text].push_back(kFirstChoice);
  }
  pieces_ = std::make_unique<PieceScorer>(model, pieces_of(scored, window), options.alternatives);
}

TextScorer::TextScorer(TextScorer&&) = default;
TextScorer::~TextScorer() = default;

bool TextScorer::advance(int64_t tokens) {
  return pieces_->advance(tokens);
}

std::vector<std::vector<ScoredToken>> TextScorer::scores() && {
  for (size_t piece = 0; piece < pieces_->pieces().size(); ++piece) {
    auto& text = result_[pieces_->pieces()[piece].text];
    const auto& scores = pieces_->scores()[piece];
    text.insert(text.end(), scores.begin(), scores.end());
  }
  return std::move(result_);
}

std::vector<std::vector<ScoredToken>> score_texts(LanguageModel& model,
                                                  const std::vector<Tokens>& texts,
                                                  const ScoringOptions& options) {
  TextScorer scorer(model, texts, options);
  score_all(scorer);
  return std::move(scorer).scores();
}

std::vector<ContinuationScore> score_continuations(LanguageModel& model,
                                                   const std::vector<Continuation>& requests,
                                                   const ScoringOptions& options) {
  const size_t window = windowed(model, options) ? model.window() : SIZE_MAX;
  std::vector<ContinuationScore> result(requests.size());
  std::vector<TextPiece> pieces;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& [context, continuation] = requests[i];
    TESSERA_CHECK(!context.empty(), "score_continuations: the context of request ", i,
                  " is empty; give the end-of-text token");
    TESSERA_CHECK(continuation.size() <= window, "score_continuations: request ", i, " has ",
                  continuation.size(), " tokens to score, more than the model's window of ",
                  window);
    if (continuation.empty()) continue;
    const size_t kept = std::min(context.size(), window - continuation.size() + 1);
    Tokens tokens(context.end() - kept, context.end());
    tokens.insert(tokens.end(), continuation.begin(), continuation.end());
    check_tokens(model, tokens, i);
    pieces.push_back({i, std::move(tokens), kept});
  }
  PieceScorer scorer(model, std::move(pieces), options.alternatives);
  score_all(scorer);
  for (size_t piece = 0; piece < scorer.pieces().size(); ++piece) {
    ContinuationScore& score = result[scorer.pieces()[piece].text];
    score.tokens = scorer.scores()[piece];
    for (const auto& token : score.tokens) {
      score.log_probability += *token.log_probability;
      score.greedy = score.greedy && token.greedy;
    }
  }
  return result;
}

}  // namespace tessera
