#include "tessera/infer/scoring.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "tessera/base/interrupt.h"
#include "tessera/infer/read_pieces.h"
#include "tessera/model/language_model.h"

namespace tessera {
namespace {

constexpr size_t kBatchTokens = 4096;      // read in one pass, filling included; more: part by part
constexpr int64_t kChunkLogits = 1 << 23;  // floats of logits that exist at once

constexpr int64_t kFirstChoice = -1;  // in place of a token: the one that the model expects

/// Tokens `first`.. of a piece of text number `text` are scored, the ones before are only read.
struct Piece {
  size_t text;
  Tokens tokens;
  size_t first;
};

std::vector<Piece> pieces_of(const std::vector<Tokens>& texts, size_t window) {
  std::vector<Piece> pieces;
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

/// hidden [N, C] before each of `targets` [N] -> their scores.
std::vector<ScoredToken> score_rows(LanguageModel& model, const at::Tensor& hidden,
                                    std::span<const int64_t> targets, int64_t alternatives) {
  const int64_t V = model.vocabulary(), N = hidden.size(0);
  const int64_t rows = std::max<int64_t>(1, kChunkLogits / V);
  std::vector<ScoredToken> scores(N);
  for (int64_t first = 0; first < N; first += rows) {
    const int64_t count = std::min(rows, N - first);
    const at::Tensor logits =
        model.logits(hidden.narrow(0, first, count)).to(at::kFloat).contiguous();
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

/// A piece that is long enough to be read part by part.
std::vector<ScoredToken> score_long(LanguageModel& model, const Piece& piece,
                                    int64_t alternatives) {
  std::vector<ScoredToken> scores;
  const Tokens read(piece.tokens.begin(), piece.tokens.end() - 1);
  read_pieces(
      model, padded({read}), model.empty_state(), [&](const at::Tensor& hidden, int64_t first) {
        const int64_t skipped = std::max<int64_t>(static_cast<int64_t>(piece.first) - 1 - first, 0);
        const int64_t count = hidden.size(1) - skipped;
        if (count <= 0) return;
        const auto targets = std::span(piece.tokens).subspan(first + skipped + 1, count);
        const auto part =
            score_rows(model, hidden[0].narrow(0, skipped, count), targets, alternatives);
        scores.insert(scores.end(), part.begin(), part.end());
      });
  return scores;
}

/// Reads the pieces [begin, end), which are of similar length, and appends their scores.
void score_batch(LanguageModel& model, const std::vector<Piece>& pieces,
                 std::span<const size_t> batch, int64_t alternatives,
                 std::vector<std::vector<ScoredToken>>& scores) {
  if (const Piece& piece = pieces[batch.front()]; piece.tokens.size() > kBatchTokens) {
    scores[batch.front()] = score_long(model, piece, alternatives);
    return;
  }
  std::vector<Tokens> read;
  for (size_t piece : batch)
    read.emplace_back(pieces[piece].tokens.begin(), pieces[piece].tokens.end() - 1);
  const at::Tensor hidden = model.hidden(padded(read));  // [B, T, C]
  for (size_t row = 0; row < batch.size(); ++row) {
    const Piece& piece = pieces[batch[row]];
    const int64_t count = piece.tokens.size() - piece.first;
    scores[batch[row]] = score_rows(model, hidden[row].narrow(0, piece.first - 1, count),
                                    std::span(piece.tokens).subspan(piece.first), alternatives);
  }
}

/// text: the tokens of text number `number`.
void check_tokens(const LanguageModel& model, const Tokens& text, size_t number) {
  for (int64_t token : text)
    TORCH_CHECK_VALUE(token >= 0 && token < model.vocabulary(), "text ", number, ": token ", token,
                      " is outside the model's vocabulary of ", model.vocabulary(),
                      "; was the text encoded by another tokenizer?");
}

/// Scores of every piece, in the order of the pieces.
std::vector<std::vector<ScoredToken>> score_pieces(LanguageModel& model,
                                                   const std::vector<Piece>& pieces,
                                                   int64_t alternatives) {
  at::NoGradGuard no_grad;
  std::vector<size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return pieces[a].tokens.size() > pieces[b].tokens.size();  // so little of a batch is filling
  });
  std::vector<std::vector<ScoredToken>> scores(pieces.size());
  for (size_t begin = 0; begin < order.size();) {
    if (begin > 0) InterruptGuard::stop_if_interrupted("interrupted");
    const size_t rows = std::max<size_t>(1, kBatchTokens / pieces[order[begin]].tokens.size());
    const size_t count = std::min(rows, order.size() - begin);
    score_batch(model, pieces, std::span(order).subspan(begin, count), alternatives, scores);
    begin += count;
  }
  return scores;
}

bool windowed(const LanguageModel& model, const ScoringOptions& options) {
  return options.reading.value_or(natural_reading(model)) == Reading::kWindowed;
}

}  // namespace

std::vector<std::vector<ScoredToken>> score_texts(LanguageModel& model,
                                                  const std::vector<Tokens>& texts,
                                                  const ScoringOptions& options) {
  const size_t window = windowed(model, options) ? model.window() : SIZE_MAX;
  std::vector<std::vector<ScoredToken>> result(texts.size());
  std::vector<Tokens> scored = texts;
  for (size_t text = 0; text < texts.size(); ++text) {
    if (texts[text].empty()) continue;
    check_tokens(model, texts[text], text);
    result[text].push_back({texts[text].front(), {}, false, {}});
    if (options.predict_next) scored[text].push_back(kFirstChoice);
  }
  const std::vector<Piece> pieces = pieces_of(scored, window);
  const auto scores = score_pieces(model, pieces, options.alternatives);
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    auto& text = result[pieces[piece].text];
    text.insert(text.end(), scores[piece].begin(), scores[piece].end());
  }
  return result;
}

std::vector<ContinuationScore> score_continuations(LanguageModel& model,
                                                   const std::vector<Continuation>& requests,
                                                   const ScoringOptions& options) {
  const size_t window = windowed(model, options) ? model.window() : SIZE_MAX;
  std::vector<ContinuationScore> result(requests.size());
  std::vector<Piece> pieces;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& [context, continuation] = requests[i];
    TORCH_CHECK_VALUE(!context.empty(), "score_continuations: the context of request ", i,
                      " is empty; give the end-of-text token");
    TORCH_CHECK_VALUE(continuation.size() <= window, "score_continuations: request ", i, " has ",
                      continuation.size(), " tokens to score, more than the model's window of ",
                      window);
    if (continuation.empty()) continue;
    const size_t kept = std::min(context.size(), window - continuation.size() + 1);
    Tokens tokens(context.end() - kept, context.end());
    tokens.insert(tokens.end(), continuation.begin(), continuation.end());
    check_tokens(model, tokens, i);
    pieces.push_back({i, std::move(tokens), kept});
  }
  auto scores = score_pieces(model, pieces, options.alternatives);
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    ContinuationScore& score = result[pieces[piece].text];
    score.tokens = std::move(scores[piece]);
    for (const auto& token : score.tokens) {
      score.log_probability += *token.log_probability;
      score.greedy = score.greedy && token.greedy;
    }
  }
  return result;
}

}  // namespace tessera
