#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

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

/// Whether a (window, next token) that occurs again in the same document is reported again.
enum class Repeats { kEach, kOnce };

/// The (window, next token) pairs of one document, piece by piece: for every position i and every
/// length L <= i the L tokens before i and the token at i (Zanzotto et al. 2025, sec. 3.2; windows
/// at every position as in the authors' code). Under Repeats::kOnce each distinct pair is reported
/// once for each document, at 11 to 21 bytes of memory each, 32 while the table grows. Two pairs
/// count as equal if their 64-bit hashes are, which happens by chance in one of 400 documents of
/// 10^8 tokens.
class WindowPairs {
 public:
  /// lengths: ascending, in tokens.
  WindowPairs(std::vector<int64_t> lengths, Repeats repeats);

  /// The pairs whose next token lies in `piece`, by position, then by length. Valid, like text(),
  /// until the next call.
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
  Repeats repeats_;
  int64_t read_ = 0;  // tokens of the document so far
  std::vector<int32_t> text_;
  std::vector<WindowPair> pairs_;
  Seen seen_;
};

}  // namespace tessera::memo
