#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tessera/infer/token_distribution.h"

namespace tessera::serve {

using TokenIds = std::vector<int64_t>;

/// Predicts the next tokens of many texts side by side: a language model, or a store. For one
/// thread. A prompt is read in pieces, so that the texts which are being written need not wait for
/// a long one; once it is read it is the last row.
class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual int64_t vocabulary() const = 0;
  /// Most tokens of a text that it continues; none where there is no such limit.
  virtual std::optional<int64_t> longest_text() const { return std::nullopt; }
  /// Bytes of memory that a text of so many tokens takes while it is a row.
  virtual double bytes(int64_t tokens) const = 0;

  /// Begins to read a prompt (one token or more); only while none is being read.
  virtual void begin(TokenIds prompt) = 0;
  /// Reads a piece of it; returns whether that was the last. What it throws drops the prompt.
  virtual bool read_piece() = 0;
  /// Drops the prompt that is being read.
  virtual void drop_prompt() = 0;

  virtual size_t rows() const = 0;
  /// What the text of this row is so far.
  virtual const TokenIds& tokens(size_t row) const = 0;
  /// The logits [V] of its next token; valid until the rows change.
  virtual std::span<const float> logits(size_t row) = 0;
  /// Goes on with these rows, in this order, each with one more token.
  virtual void step(const std::vector<int64_t>& rows, const TokenIds& drawn) = 0;

  /// Scores every token of each text, and after them the first choice for the next one, with so
  /// many alternatives (score_texts with predict_next).
  virtual std::vector<std::vector<ScoredToken>> score(const std::vector<TokenIds>& texts,
                                                      int64_t alternatives) = 0;
};

}  // namespace tessera::serve
