#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tessera/data/tokenizer.h"
#include "tessera/store/ledger.h"

namespace tessera {

/// A place where a text stands in a document.
struct TextMatch {
  std::string document;       ///< its id
  int64_t line = 1;           ///< in which the match begins, from 1
  int64_t byte = 0;           ///< of the document's text, from 0
  std::string before, after;  ///< what surrounds it on its lines, at most 60 bytes each
};

/// Hands over every place where `text` stands in the document, byte for byte and whatever tokens it
/// is cut into, in their order; overlapping ones too. Stops where `take` returns false, and then
/// returns false itself. One pass; memory does not grow with the document. Throws
/// std::invalid_argument on an empty text.
bool find_text(std::string_view text, const std::string& id, const TokenPieces& pieces,
               const Tokenizer& tokenizer, const std::function<bool(const TextMatch&)>& take);

}  // namespace tessera
