#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/store/memo_store.h"

namespace tessera::store {

/// Hands over each token of a stored document with the bytes of text that it stands for, in order;
/// an end of text is left out. Throws DataError as Ledger::pieces() does.
void read_text(const MemoStore& store, const StoredDocument& document,
               const std::function<void(int32_t token, std::string_view bytes)>& take);

/// The same of a ledger that no reader has opened.
void read_text(const Ledger& ledger, const Tokenizer& tokenizer, const StoredDocument& document,
               const std::function<void(int32_t token, std::string_view bytes)>& take);
/// All of it.
std::string whole_text(const Ledger& ledger, const Tokenizer& tokenizer,
                       const StoredDocument& document);

/// A place in a document's text.
struct TextPlace {
  int64_t byte = 0, character = 0;  ///< before it
  int64_t line = 1;                 ///< that it is on
};

/// Where tokens begin. positions: of these tokens in the document, ascending. A token that begins
/// inside a character counts as beginning behind it.
std::vector<TextPlace> places_of(const MemoStore& store, const StoredDocument& document,
                                 std::span<const int64_t> positions);

}  // namespace tessera::store
