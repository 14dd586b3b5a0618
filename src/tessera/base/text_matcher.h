#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tessera {

/// Finds a text in bytes that come one at a time, each of which it looks at a few times however the
/// two repeat themselves (Knuth, Morris & Pratt 1977).
class TextMatcher {
 public:
  /// text: not empty.
  explicit TextMatcher(std::string text);

  /// Whether all bytes so far, of which this is the next, end with the whole text.
  bool add(char byte);
  /// How many bytes of the text they end with: of its beginnings the longest.
  size_t matched() const { return matched_; }
  size_t size() const { return text_.size(); }

 private:
  std::string text_;
  std::vector<size_t> shorter_;  // [n]: of its first n bytes, how many fewer they end with too
  size_t matched_ = 0;
};

}  // namespace tessera
