#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "program/serve/memory_budget.h"
#include "tessera/sampling/sampling.h"

namespace tessera {
class LanguageModel;
}

namespace tessera::serve {

class ServedStore;

/// Reads texts a part at a time, so that others need not wait for a long one.
class PartialReading {
 public:
  virtual ~PartialReading() = default;
  /// Reads about so many tokens more; returns whether that was all. After a throw it is of no use.
  virtual bool advance(int64_t tokens) = 0;
};

/// A prompt that is read, to be continued.
class PromptReading : public PartialReading {};

/// Texts that are scored.
class ScoreReading : public PartialReading {
 public:
  /// The scores of every token of each text, and after them of the first choice for the next one
  /// (score_texts with predict_next); once, when all is read.
  virtual std::vector<std::vector<ScoredToken>> scores() = 0;
};

/// Predicts the next tokens of many texts side by side: a language model, or a store. For one
/// thread; it must outlive what it reads.
class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual int64_t vocabulary() const = 0;
  /// Most tokens of a text that it continues; none where there is no such limit.
  virtual std::optional<int64_t> longest_text() const { return std::nullopt; }
  /// Bytes of memory that a text of so many tokens takes while it is a row.
  virtual double bytes(int64_t tokens) const = 0;

  /// Begins to read a prompt, of one token or more.
  virtual std::unique_ptr<PromptReading> read(TokenIds prompt) = 0;
  /// Begins to score texts, with so many alternatives for each token.
  virtual std::unique_ptr<ScoreReading> score(std::vector<TokenIds> texts,
                                              int64_t alternatives) = 0;

  /// Goes on with a prompt that read() gave, and that is read, as the last row. Takes its content.
  /// After a throw the rows are as before.
  virtual void add(PromptReading& prompt) = 0;
  /// What the text of this row is so far.
  virtual const TokenIds& tokens(size_t row) const = 0;
  /// Whether its text goes on; if not, it ends as Finish::kNotStored.
  virtual bool goes_on(size_t) const { return true; }
  /// The logits [V] of its next token; valid until the rows change. Several threads may ask.
  virtual std::span<const float> logits(size_t row) = 0;
  /// Goes on with these rows, which ascend, each with one more token.
  virtual void step(const std::vector<int64_t>& rows, const TokenIds& drawn) = 0;
  /// Drops all rows, whatever state a throw has left them in.
  virtual void clear() noexcept = 0;
};

/// A language model's texts, read as StreamingSession reads them in the model's natural reading.
/// What was read of the latest prompts is kept in `memory`: a prompt that begins like one of them
/// goes on from a fork.
std::unique_ptr<Decoder> decoder_of(std::shared_ptr<LanguageModel> model,
                                    std::shared_ptr<MemoryBudget> memory);
/// A store's texts: the next token's probabilities are those of its decoder after the last tokens
/// of the text, as many as the longest window has (store::StoreReader::predict).
std::unique_ptr<Decoder> decoder_of(std::shared_ptr<ServedStore> store);

}  // namespace tessera::serve
