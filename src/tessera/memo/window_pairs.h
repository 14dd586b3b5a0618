#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// A window of a text and the token that follows it.
struct WindowPair {
  int32_t length_index;  ///< which of the window lengths
  int64_t next;          ///< where the next token stands in WindowPairs::text()
};

/// Whether a (window, next token) that comes again in the same document is a pair again.
enum class Repeats { kEach, kOnce };

/// The (window, next token) pairs of one document, piece by piece: for every position i and every
/// length L <= i the L tokens before i and the token at i (Zanzotto et al. 2025, sec. 3.2; windows
/// at every position as in the authors' code). Under Repeats::kOnce each distinct pair comes once a
/// document, at 11 to 21 bytes of memory each and 32 while room is made; two pairs are taken for
/// equal when their 64-bit hashes are, which a document of 10^8 tokens sees with a chance of 1 in
/// 400.
class WindowPairs {
 public:
  /// lengths: ascending, in tokens.
  WindowPairs(std::vector<int64_t> lengths, Repeats repeats);

  /// The pairs whose next token lies in `piece`, by position, then by length. Valid, like text(),
  /// until the next call.
  std::span<const WindowPair> append(std::span<const int32_t> piece);
  /// The last piece and as much of the document before it as its windows reach back.
  std::span<const int32_t> text() const { return text_; }

 private:
  /// The hashes seen so far: open addressing, the hash is its own place.
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

}  // namespace tessera
