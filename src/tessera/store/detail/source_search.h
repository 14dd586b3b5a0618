#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/memo/window_code.h"
#include "tessera/store/questioned_store.h"

namespace tessera::store {

/// Finds the sources of the tokens of a text in one pass over the stored documents. A pass reads
/// two or four bytes for each token, a small part of what the memory reads for a single answer: at
/// 99 % recall C has some 44 entries for each token. So there is no index to keep, to check, or to
/// clean of what was forgotten.
class SourceSearch {
 public:
  /// Searches for the sources of text[first, …): the `most` best of each, with at least `shortest`
  /// >= 1 equal tokens before it.
  SourceSearch(std::span<const int32_t> text, size_t first, int64_t shortest, size_t most);

  void read(const std::string& id, const memo::TokenPieces& pieces);

  /// For text[first], text[first + 1], …
  const std::vector<TokenSources>& found() const { return found_; }

 private:
  /// A run of equal tokens, which ends here in the text and at `position` in the document.
  struct Run {
    int64_t position = -2, length = 0;
  };

  /// The next pair of tokens that may belong to a source.
  void see(const std::string& id, int64_t position, int32_t before, int32_t token);
  void take(TokenSources& sources, const std::string& id, int64_t position, int64_t matched) const;

  size_t first_, most_;
  int64_t shortest_;
  std::vector<std::vector<size_t>> places_;  // by token, its indices in the text, last first
  std::vector<uint8_t> has_pair_;  // by hash: whether the text has such two tokens in a row
  std::vector<int32_t> text_;
  std::vector<Run> runs_;  // by index in the text
  std::vector<TokenSources> found_;
};

}  // namespace tessera::store
