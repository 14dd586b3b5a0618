#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tessera {

/// What a memory of texts holds after the last `length` tokens of a text, if these were stored and
/// no longer end of it was.
struct StoredContinuation {
  int64_t length = 0;    ///< tokens
  double log_ratio = 0;  ///< nats, of the likelihood that this is so to that nothing was stored
  /// The tokens that may have been stored next, with probabilities that sum to 1.
  std::vector<std::pair<int32_t, double>> tokens;
};

/// A memory of texts that can be asked for the next token of any text, beside a language model.
class TokenMemory {
 public:
  /// Reads one text token by token.
  class Reader {
   public:
    virtual ~Reader() = default;
    virtual void append(int32_t token) = 0;
    /// One for each length of an end of the text that may have been stored, shortest first.
    /// log_prior: nats, the log-probability of each token as the next one, as far as is known
    /// without the memory; at least as many as the memory has tokens.
    virtual std::vector<StoredContinuation> continuations(std::span<const double> log_prior) = 0;
  };

  virtual ~TokenMemory() = default;
  /// A reader at the beginning of a text. The memory must outlive it.
  virtual std::unique_ptr<Reader> reader() const = 0;
  /// How often each token occurs in the memory's texts, as shares that sum to 1; none while it
  /// holds no text.
  virtual std::vector<double> frequencies() const = 0;

 protected:
  TokenMemory() = default;
};

}  // namespace tessera
