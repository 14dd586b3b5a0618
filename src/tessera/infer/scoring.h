#pragma once

#include <optional>
#include <vector>

#include "tessera/infer/streaming_session.h"
#include "tessera/infer/token_distribution.h"

namespace tessera {

struct ScoringOptions {
  int64_t alternatives = 0;        ///< how many of the most probable tokens to report with each
  std::optional<Reading> reading;  ///< natural_reading() where none is given
};

/// Scores all tokens of each text but its first. Where reading is kWindowed a text longer than the
/// window is read in windows that overlap by half, each token being scored in the first window
/// that holds it (so that it has half a window before it, or more). Throws c10::ValueError on ids
/// outside the vocabulary, std::invalid_argument on logits that are NaN or infinite.
std::vector<std::vector<ScoredToken>> score_texts(LanguageModel& model,
                                                  const std::vector<Tokens>& texts,
                                                  const ScoringOptions& options = {});

/// A continuation and the text before it.
struct Continuation {
  Tokens context;
  Tokens continuation;
};

struct ContinuationScore {
  double log_probability = 0;       ///< of the whole continuation, nats
  bool greedy = true;               ///< whether greedy decoding would have written it
  std::vector<ScoredToken> tokens;  ///< of the continuation
};

/// log p(continuation | context) for each. Where reading is kWindowed the oldest tokens of the
/// context that do not fit into the window are left out. Throws c10::ValueError on an empty context
/// (give the end-of-text token instead) and on a continuation longer than such a window.
std::vector<ContinuationScore> score_continuations(LanguageModel& model,
                                                   const std::vector<Continuation>& requests,
                                                   const ScoringOptions& options = {});

/// The mean cross entropy at every position of a window, gathered over many windows of a text.
class LossByPosition {
 public:
  /// windows [B, T + 1] int64: the tokens 0..T-1 are read, 1..T are predicted. T may differ between
  /// calls.
  void add(LanguageModel& model, const at::Tensor& windows);

  /// Nats per token after reading position + 1 tokens; throws std::out_of_range where nothing was
  /// added for this position.
  double at(int64_t position) const { return sums_.at(position) / counts_.at(position); }
  int64_t positions() const { return static_cast<int64_t>(sums_.size()); }
  /// Nats per token over all positions; NaN before anything was added.
  double mean() const;
  int64_t tokens() const;  ///< predicted so far

 private:
  std::vector<double> sums_;
  std::vector<int64_t> counts_;
};

}  // namespace tessera
