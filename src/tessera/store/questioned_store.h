#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/memo/readable_memory.h"
#include "tessera/store/store_folder.h"

namespace tessera::store {

/// A text that somebody typed, as a store's memory is asked with it.
struct Question {
  std::vector<int32_t> tokens;
  /// The end of the text that is not a whole token: what is recalled begins with it.
  std::string rest;
  std::string text;         ///< as the document has it; what it does not have is as typed
  int64_t differences = 0;  ///< words typed that are wrong, missing or too many
};

/// What documents have in the place of a text that somebody typed: of the places with the fewest
/// differences, then the least doubt (WordMatch), the texts that are most like what was typed.
struct Readings {
  static constexpr size_t kMost = 8;  ///< questions

  int64_t differences = INT64_MAX, doubt = INT64_MAX;  ///< of the best places, if there are any
  int likeness = 0;  ///< of the questions: 0, all characters are equal, to 3, the words
  std::vector<Question> questions;  ///< of different tokens, in the order of the documents

  /// Adds those of further documents: the same as one search in the documents of both, in this
  /// order.
  void merge(Readings&& later);
};

/// A position in a document with the same token after the same tokens.
struct Source {
  std::string document;                       ///< its id
  int64_t position = 0;                       ///< of the token in the document, in tokens from 0
  int64_t matched_length = 0;                 ///< tokens before it that are equal
  int64_t byte = 0, character = 0, line = 0;  ///< of the token in the document's text, as TextPlace
                                              ///< has them; a search leaves them 0
};

/// The sources of one token of a text.
struct TokenSources {
  std::vector<Source> best;  ///< longest match first, then in the order of the documents
  int64_t places = 0;        ///< in all documents, where at least the shortest window matches
};

/// What a question asks of a store (MemoStore), or of several that answer together as if one held
/// the documents of all. Members throw as MemoStore does.
class QuestionedStore {
 public:
  virtual ~QuestionedStore() = default;

  virtual const StoreConfig& config() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  virtual const memo::ReadableMemory& memory() const = 0;
  /// [V]: how often each token of the vocabulary occurs in the documents.
  virtual std::vector<int64_t> token_counts() const = 0;
  virtual Readings readings(std::string_view typed) const = 0;
  /// SourceSearch in all documents.
  virtual std::vector<TokenSources> sources(std::span<const int32_t> text, size_t first,
                                            size_t most) const = 0;

 protected:
  QuestionedStore() = default;
  QuestionedStore(const QuestionedStore&) = default;
  QuestionedStore& operator=(const QuestionedStore&) = default;
};

}  // namespace tessera::store
