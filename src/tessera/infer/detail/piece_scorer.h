#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/model/sequence_model.h"
#include "tessera/sampling/sampling.h"

namespace tessera {

class LanguageModel;

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
  /// than kPieceTokens. Returns whether all pieces are scored. Throws UsageError on
  /// logits that are NaN or infinite.
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

}  // namespace tessera
