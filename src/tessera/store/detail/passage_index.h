#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/store/ledger.h"
#include "tessera/store/sqlite.h"

namespace tessera::store {

/// The full-text index of a ledger (SQLite's FTS5): documents are cut into passages of some
/// hundred bytes at ends of lines, and words are reduced to their stems (Porter 1980). Each throws
/// as sqlite::Database does.

/// Indexes the text of a document that is not indexed.
void index_passages(const sqlite::Database& ledger, int64_t document, std::string_view text);
void delete_passages(const sqlite::Database& ledger, int64_t document);
/// The passages of a document, one after the other: its text.
std::string indexed_text(const sqlite::Database& ledger, int64_t document);

/// Passages of some documents in a table of their own, while the index is replaced by another
/// within one transaction, whose end no such table outlives.
class KeptPassages {
 public:
  explicit KeptPassages(sqlite::Database& ledger);
  void add(int64_t document);
  /// Its passages, one after the other; empty unless it was added.
  std::string text(int64_t document) const;
  void drop();

 private:
  sqlite::Database& ledger_;
};

/// At most `limit` passages (0: all) that have at least one of the words of `question`, best first.
std::vector<FoundPassage> find_passages(const sqlite::Database& ledger, std::string_view question,
                                        int64_t limit);

/// Visits where at least `least` of these words stand in two passages in a row, in any form: these
/// passages and one on either side. No other place has so many in so little text. Those with most
/// words come first, then the order is that of the documents; visit(place) says how many words the
/// further ones must have.
void visit_neighbourhoods(const sqlite::Database& ledger, const std::vector<std::string>& words,
                          size_t least, const std::function<size_t(Neighbourhood&&)>& visit);

}  // namespace tessera::store
