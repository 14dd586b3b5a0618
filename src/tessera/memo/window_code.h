#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tessera/memo/exact_correlation_memory.h"
#include "tessera/memo/text_memory_config.h"

namespace tessera::memo {

/// The tokens of one document, piece by piece: each call gives the next piece, valid until the next
/// call; an empty one ends the document.
using TokenPieces = std::function<std::span<const int32_t>()>;

/// The pieces of a document that lies in memory as a whole: one. Its tokens must outlive them.
TokenPieces one_piece(std::span<const int32_t> tokens);

/// A window of a text and the token that follows it.
struct WindowPair {
  int32_t length_index;  ///< which of the window lengths
  int64_t next;          ///< index of the next token in WindowPairs::text()
};

/// The (window, next token) pairs of one document, piece by piece: for every position i and every
/// length L <= i the L tokens before i and the token at i (Zanzotto et al. 2025, sec. 3.2; windows
/// at every position as in the authors' code). Each distinct pair is reported once for each
/// document, at 11 to 21 bytes of memory each, 32 while the table grows. Two pairs count as equal
/// if their 64-bit hashes are, which happens by chance in one of 400 documents of 10^8 tokens.
class WindowPairs {
 public:
  static constexpr int64_t kMostBytes = 32;  ///< for each pair

  /// lengths: ascending, in tokens.
  explicit WindowPairs(std::vector<int64_t> lengths);

  /// The pairs whose next token lies in `piece` and that are new in the document, by position, then
  /// by length. Valid, like text(), until the next call.
  std::span<const WindowPair> append(std::span<const int32_t> piece);
  /// The last piece, and before it the part of the document that its windows cover.
  std::span<const int32_t> text() const { return text_; }

 private:
  /// The hashes seen so far: open addressing by the hash itself.
  class Seen {
   public:
    bool insert(uint64_t hash);

   private:
    void grow();
    std::vector<uint64_t> slots_;
    size_t count_ = 0;
  };

  std::vector<int64_t> lengths_;
  int64_t read_ = 0;  // tokens of the document so far
  std::vector<int32_t> text_;
  std::vector<WindowPair> pairs_;
  Seen seen_;
};

/// The windows that end some contexts, as a memory is queried: context by context, one window of
/// each length that the context can fill, shortest first.
struct WindowQueries {
  std::vector<int8_t> keys;     ///< [n, d]
  std::vector<uint64_t> masks;  ///< [n, d / 64], signs that the values were bound with, or empty
  std::vector<size_t> shards;   ///< [n], which shard holds each window, or empty: there is only one

  /// Undoes the binding of retrieved [n, d], which a memory returned for the keys.
  void unbind(std::span<float> retrieved) const;
};

/// The windows that end a text which grows token by token.
class WindowStream {
 public:
  virtual ~WindowStream() = default;
  virtual void append(int32_t token) = 0;
  virtual WindowQueries queries() const = 0;
};

/// Turns windows and tokens into keys and values of a correlation matrix memory. A code is a pure
/// function of its configuration and holds no text. Tokens must be in the vocabulary.
class WindowCode {
 public:
  /// Throws what check_config() throws.
  static std::unique_ptr<const WindowCode> make(const TextMemoryConfig& config);
  virtual ~WindowCode() = default;

  const TextMemoryConfig& config() const { return config_; }
  /// In tokens, ascending.
  std::span<const int64_t> window_lengths() const { return lengths_; }

  /// Stores or forgets the pairs of `text` in `memory` [d, d].
  virtual void edit(Edit edit, std::span<const int32_t> text, std::span<const WindowPair> pairs,
                    ExactCorrelationMemory& memory) const = 0;
  virtual WindowQueries queries(std::span<const std::span<const int32_t>> contexts) const = 0;
  /// Gives the same queries as queries() of the whole text. The code must outlive it.
  virtual std::unique_ptr<WindowStream> stream() const = 0;
  /// A row [V] of scores for each of the values [n, d] that a memory returned, unbound: about 1 for
  /// a token that was stored once with that window, about 0 for others.
  virtual void score(std::span<const float> values, std::span<float* const> scores) const = 0;
  /// The score of one token for one value [d], exactly.
  virtual float score(std::span<const float> value, int32_t token) const = 0;
  /// Standard deviation of one window's score for a token that was not stored with it: the mean
  /// over all windows. energy: of the matrix (ExactCorrelationMemory::energy()).
  virtual double noise(double energy) const = 0;
  /// The same for the window that a value [d] was retrieved for; 0 if the value does not tell.
  virtual double noise(std::span<const float> value) const = 0;

 protected:
  explicit WindowCode(const TextMemoryConfig& config)
      : config_(config), lengths_(memo::window_lengths(config)) {}

 private:
  TextMemoryConfig config_;
  std::vector<int64_t> lengths_;
};

}  // namespace tessera::memo
