#pragma once

#include <optional>
#include <vector>

#include "tessera/infer/streaming_session.h"
#include "tessera/sampling/sampling.h"

namespace tessera {

struct Continuation;
struct ContinuationScore;

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

  /// Reads at most so many tokens more, filling included, and at least one; of a long text no more
  /// than kPieceTokens. Returns whether all texts are scored. Throws as TokenDistribution does on
  /// NaN or infinite logits; it cannot go on then.
  bool advance(int64_t tokens);
  /// The scores of all texts, once advance() has returned true.
  std::vector<std::vector<ScoredToken>> scores() &&;

 private:
  friend std::vector<ContinuationScore> score_continuations(
      LanguageModel& model, const std::vector<Continuation>& requests,
      const ScoringOptions& options);

  /// Tokens `first`.. of a piece of text number `text` are scored, the ones before are only read.
  struct Piece {
    size_t text;
    Tokens tokens;  // two or more; the last may be one that stands for the model's first choice
    size_t first;   // 1 or more
  };
  TextScorer(LanguageModel& model, size_t texts, std::vector<Piece> pieces, int64_t alternatives);

  static std::vector<Piece> pieces_of(const LanguageModel& model, const std::vector<Tokens>& texts,
                                      const ScoringOptions& options);
  void read_part(int64_t tokens);
  void read_batch(size_t rows);

  LanguageModel& model_;
  std::vector<Piece> pieces_;
  int64_t alternatives_;
  std::vector<size_t> order_;  // the longest first, so that little of a batch is filling
  std::vector<std::vector<ScoredToken>> scores_;  // of each piece
  std::vector<std::vector<ScoredToken>> result_;  // the first tokens, which have no scores
  size_t next_ = 0;                               // in order_
  std::optional<SequenceState> state_;            // of the next piece, where a part of it is read:
  int64_t read_ = 0;                              // so many tokens
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
