#pragma once

#include <string_view>

#include "tessera/store/questioned_store.h"
#include "tessera/store/recall.h"

namespace tessera::store {

/// The memory knows windows of exact tokens; a person types a line break as a space, a typographic
/// quote as a plain one, a word wrongly, or begins inside a word. So the question's last words are
/// first looked for in the documents, whatever stands between them and in either case; from three
/// words on one may be missing, from four on one may be wrong, missing or too many, and one more
/// for each eight. The memory is then asked with the document's own tokens. Of several places with
/// equally few differences those count that are most like what was typed, character by character.
/// Between these, and the text as it was typed if a word differs, the memory decides: the question
/// is the one that it has most evidence for. If no document fits, or with options.exact, the
/// question is the text as it was typed.
///
/// The full-text index says where enough of the longest words stand together, which misses no
/// place; where it cannot, in short questions, in scripts without spaces and in stores of earlier
/// versions, all documents are read. The error rate of a recall holds: a text that no document has,
/// up to these differences, is asked as it is. Throws UsageError where the tokenizer cannot encode
/// it.
Question read_question(const QuestionedStore& store, std::string_view typed,
                       const RecallOptions& options = {});

}  // namespace tessera::store
