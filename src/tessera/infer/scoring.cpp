#include "tessera/infer/scoring.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "tessera/base/consecutive.h"
#include "tessera/base/interrupt.h"
#include "tessera/model/language_model.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

/// In place of a token that is scored: the one that the model expects.
constexpr int64_t kFirstChoice = -1;

constexpr int64_t kBatchTokens = 4096;     // read in one pass, filling included; more: part by part
constexpr int64_t kChunkLogits = 1 << 23;  // floats of logits that exist at once

/// text: the tokens of text number `number`.
void check_tokens(const LanguageModel& model, const Tokens& text, size_t number) {
  check_token_ids(at::tensor(text, at::kLong), 0, model.vocabulary(),
                  fmt::format("text {}: token", number));
}

/// Tokens that are read at once at most.
size_t window_of(const LanguageModel& model, const ScoringOptions& options) {
  const Reading reading = options.reading.value_or(natural_reading(model));
  return reading == Reading::kWindowed ? model.window() : SIZE_MAX;
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

void score_all(TextScorer& scorer) {
  while (!scorer.advance(kBatchTokens)) InterruptGuard::stop_if_interrupted("interrupted");
}

}  // namespace

TextScorer::TextScorer(LanguageModel& model, size_t texts, std::vector<Piece> pieces,
                       int64_t alternatives)
    : model_(model),
      pieces_(std::move(pieces)),
      alternatives_(alternatives),
      order_(consecutive<size_t>(pieces_.size())),
      scores_(pieces_.size()),
      result_(texts) {
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return pieces_[a].tokens.size() > pieces_[b].tokens.size();
  });
}

TextScorer::TextScorer(LanguageModel& model, const std::vector<Tokens>& texts,
                       const ScoringOptions& options)
    : TextScorer(model, texts.size(), pieces_of(model, texts, options), options.alternatives) {
  for (size_t text = 0; text < texts.size(); ++text)
    if (!texts[text].empty()) result_[text].push_back({texts[text].front(), {}, false, {}});
}

std::vector<TextScorer::Piece> TextScorer::pieces_of(const LanguageModel& model,
                                                     const std::vector<Tokens>& texts,
                                                     const ScoringOptions& options) {
  const size_t window = window_of(model, options);
  std::vector<Piece> pieces;
  for (size_t text = 0; text < texts.size(); ++text) {
    if (texts[text].empty()) continue;
    check_tokens(model, texts[text], text);
    Tokens tokens = texts[text];
    if (options.predict_next) tokens.push_back(kFirstChoice);
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

bool TextScorer::advance(int64_t tokens) {
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
void TextScorer::read_part(int64_t tokens) {
  const Piece& piece = pieces_[order_[next_]];
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
void TextScorer::read_batch(size_t rows) {
  const auto batch = std::span(order_).subspan(next_, std::min(rows, order_.size() - next_));
  std::vector<Tokens> read;
  for (const size_t piece : batch)
    read.emplace_back(pieces_[piece].tokens.begin(), pieces_[piece].tokens.end() - 1);
  const at::Tensor hidden = model_.hidden(padded(read));  // [B, T, C]
  for (size_t row = 0; row < batch.size(); ++row) {
    const Piece& piece = pieces_[batch[row]];
    const int64_t count = piece.tokens.size() - piece.first;
    scores_[batch[row]] =
        score_rows(model_, hidden[row].narrow(0, static_cast<int64_t>(piece.first) - 1, count),
                   std::span(piece.tokens).subspan(piece.first), alternatives_);
  }
  next_ += batch.size();
}

std::vector<std::vector<ScoredToken>> TextScorer::scores() && {
  for (size_t piece = 0; piece < pieces_.size(); ++piece) {
    auto& text = result_[pieces_[piece].text];
    text.insert(text.end(), scores_[piece].begin(), scores_[piece].end());
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
  const size_t window = window_of(model, options);
  std::vector<ContinuationScore> result(requests.size());
  std::vector<TextScorer::Piece> pieces;
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
  TextScorer scorer(model, requests.size(), std::move(pieces), options.alternatives);
  score_all(scorer);
  auto scores = std::move(scorer).scores();
  for (size_t i = 0; i < requests.size(); ++i) {
    result[i].tokens = std::move(scores[i]);
    for (const auto& token : result[i].tokens) {
      result[i].log_probability += *token.log_probability;
      result[i].greedy = result[i].greedy && token.greedy;
    }
  }
  return result;
}

}  // namespace tessera
