#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tessera/data/tokenizer.h"
#include "tessera/store/ledger.h"

namespace tessera::store {

/// Hands over each token of a stored document with the bytes of text that it stands for, in order;
/// an end of text is left out. Throws DataError as Ledger::pieces() does.
void read_text(const Ledger& ledger, const Tokenizer& tokenizer, const StoredDocument& document,
               const std::function<void(int32_t token, std::string_view bytes)>& take);
/// All of it.
std::string whole_text(const Ledger& ledger, const Tokenizer& tokenizer,
                       const StoredDocument& document);
/// The text that was memorized. Some tokenizers do not give it back, such as one that puts a space
/// before each text: then it is what the full-text index holds, if that is undamaged.
std::string memorized_text(const Ledger& ledger, const Tokenizer& tokenizer,
                           const StoredDocument& document);

/// Ledger::details(), and of a document that an earlier version stored also size and SHA-256 of
/// its text.
DocumentDetails known_details(const Ledger& ledger, const Tokenizer& tokenizer,
                              const StoredDocument& document);

/// A place in a document's text.
struct TextPlace {
  int64_t byte = 0, character = 0;  ///< before it
  int64_t line = 1;                 ///< that it is on

  /// Moves it on by these bytes.
  void step_over(std::string_view bytes);
};

/// What counts as equal when a text that somebody typed is compared with a document.
/// kBytes: equal bytes. kTyped: texts that differ only in how they were typed or printed: any run
/// of white space (also a line break) is one space, typographic quotes are ' and ", dashes and runs
/// of hyphens are one hyphen, an ellipsis is three full stops, and what does not show (a soft
/// hyphen, a space of no width) is left out. kLetters: also upper and lower case.
enum class Matching { kBytes, kTyped, kLetters };

/// A place where a text occurs in a document.
struct TextMatch {
  std::string document;       ///< its id
  int64_t line = 1;           ///< where the match begins, from 1
  int64_t byte = 0;           ///< offset in the document's text, from 0
  int64_t character = 0;      ///< the same in characters (code points)
  std::string text;           ///< the match, as the document has it
  std::string before, after;  ///< the text around it on its lines, at most 60 bytes each
  bool goes_on_before = false, goes_on_after = false;  ///< whether its lines have more there
};

/// What there is to say of a place; it may be asked until the search goes on.
using MatchThere = std::function<TextMatch()>;

/// Calls `take` for every place where `text` occurs in the document, in order, overlapping ones
/// too; of those that begin inside one character (the full stops of an ellipsis) only for the
/// first. If `take` returns false, the search stops and returns false. One pass, in which each byte
/// is looked at a few times however the text and the document repeat themselves. Throws UsageError
/// on a text of which nothing is left in its normal form.
bool find_text(std::string_view text, Matching matching, const std::string& id,
               std::string_view document, const std::function<bool(const MatchThere&)>& take);

}  // namespace tessera::store
