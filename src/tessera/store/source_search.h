#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/store/ledger.h"

namespace tessera {

/// A place where a document goes on with the same token after the same tokens.
struct Source {
  std::string document;        ///< its id
  int64_t position = 0;        ///< of the token in the document, in tokens from 0
  int64_t matched_length = 0;  ///< tokens before it that agree
};

/// Where one token of a text comes from.
struct TokenSources {
  std::vector<Source> best;  ///< the longest matches first, then the documents in their order
  int64_t places = 0;        ///< in all documents, with at least the shortest window matching
};

/// Finds where the tokens of a text come from, in one pass over the stored documents. A pass reads
/// two or four bytes a token, a small part of what the memory itself reads for a single answer:
/// C takes some 44 entries a token (specs of its capacity: 99 % recall). So there is no index to
/// keep, to check or to clean of what was forgotten.
class SourceSearch {
 public:
  /// Looks for the sources of text[first, …), the `most` best of each, where at least `shortest`
  /// tokens before it agree.
  SourceSearch(std::span<const int32_t> text, size_t first, int64_t shortest, size_t most);

  void read(const std::string& id, const TokenPieces& pieces);

  /// Of text[first], text[first + 1], …
  const std::vector<TokenSources>& found() const { return found_; }

 private:
  /// A common run of tokens: it ends here in the text and, in the document, at `position`.
  struct Run {
    int64_t position = -2, length = 0;
  };

  void see(const std::string& id, int64_t position, int32_t token);
  void take(TokenSources& sources, const std::string& id, int64_t position, int64_t matched) const;

  size_t first_, most_;
  int64_t shortest_;
  std::vector<std::vector<size_t>> places_;  // by token, where it stands in the text, last first
  std::vector<Run> runs_;                    // by place in the text
  std::vector<TokenSources> found_;
};

}  // namespace tessera
