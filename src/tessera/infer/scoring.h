#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tessera/infer/streaming_session.h"
#include "tessera/sampling/sampling.h"

namespace tessera {

class PieceScorer;

struct ScoringOptions {
  int64_t alternatives = 0;        ///< how many of the most probable tokens to report with each
  std::optional<Reading> reading;  ///< natural_reading() where none is given
  /// Whether the model's first choice after each text follows its tokens, scored like them. Of
  /// texts alone: continuations end where they end.
  bool predict_next = false;
};

/// Scores all tokens of each text but its first. Where reading is kWindowed a text longer than the
/// window is read in windows that overlap by half, each token being scored in the first window
/// that holds it (so that it has half a window before it, or more). While an InterruptGuard lives,
/// a signal ends it with Interrupted. Throws UsageError on ids outside the vocabulary, and as
/// TokenDistribution does on NaN or infinite logits.
std::vector<std::vector<ScoredToken>> score_texts(LanguageModel& model,
                                                  const std::vector<Tokens>& texts,
                                                  const ScoringOptions& options = {});

/// score_texts() part by part, for a caller that has other work to do in between. The parts change
/// the scores by rounding only.
class TextScorer {
 public:
  /// Throws UsageError on ids outside the vocabulary. The model must outlive it.
  TextScorer(LanguageModel& model, const std::vector<Tokens>& texts, const ScoringOptions& options);
  TextScorer(TextScorer&&);
  ~TextScorer();

  /// Reads at most so many tokens more, filling included, and at least one; returns whether all
  /// texts are scored. Throws as TokenDistribution does on NaN or infinite logits; it
  /// cannot go on then.
  bool advance(int64_t tokens);
  /// The scores of all texts, once advance() has returned true.
  std::vector<std::vector<ScoredToken>> scores() &&;

 private:
  std::vector<std::vector<ScoredToken>> result_;  // the first tokens, which have no scores
  std::unique_ptr<PieceScorer> pieces_;
};

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
/// context that do not fit into the window are left out. Throws UsageError on an empty context
/// (give the end-of-text token instead) and on a continuation longer than such a window, and as
/// score_texts() does.
std::vector<ContinuationScore> score_continuations(LanguageModel& model,
                                                   const std::vector<Continuation>& requests,
                                                   const ScoringOptions& options = {});

}  // namespace tessera
