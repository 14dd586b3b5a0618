#include "tessera/infer/scoring.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "tessera/base/interrupt.h"
#include "tessera/infer/detail/piece_scorer.h"
#include "tessera/model/language_model.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

constexpr int64_t kBatchTokens = 4096;  // read in one pass, filling included; more: part by part

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

}  // namespace

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
  while (!scorer.advance(kBatchTokens)) InterruptGuard::stop_if_interrupted("interrupted");
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
  while (!scorer.advance(kBatchTokens)) InterruptGuard::stop_if_interrupted("interrupted");
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
