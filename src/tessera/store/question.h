#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/store/memo_store.h"

namespace tessera::store {

/// A text that somebody typed, as a store's memory is asked with it.
struct Question {
  std::vector<int32_t> tokens;
  /// The end of the text that is no whole token: what is recalled begins with it.
  std::string rest;
  std::string text;         ///< as the document has it; what it does not have is as typed
  int64_t differences = 0;  ///< words typed that are wrong, missing or too many
};

/// The memory knows windows of exact tokens; a person types a line break as a space, a typographic
/// quote as a plain one, a word wrongly, or begins inside a word. So the question's last words are
/// first looked for in the documents, whatever stands between them and in either case; from three
/// words on one may be missing, from four on one may be wrong, missing or too many, and one more
/// for each further eight. The
/// memory is then asked with the document's own tokens. Of several places with equally few
/// differences those count that are most like what was typed, character by character. Between
/// these, and the text as it was typed if a word differs, the memory decides: the question is the
/// one that it has most evidence for. If no document fits, the question is the text as it was
/// typed.
///
/// One pass over the documents. The error rate of a recall holds: a text that no document has, up
/// to these differences, is asked as it is.
Question read_question(const MemoStore& store, std::string_view typed);

}  // namespace tessera::store
