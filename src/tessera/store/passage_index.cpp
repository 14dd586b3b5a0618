// The full-text index of a Ledger (SQLite's FTS5): documents are cut into passages of some hundred
// bytes at ends of lines, and words are reduced to their stems (Porter 1980).

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/store/detail/ledger_tables.h"
#include "tessera/store/detail/word_alignment.h"
#include "tessera/store/digest.h"
#include "tessera/store/ledger.h"

namespace tessera::store {
namespace {

using sqlite::Statement;

constexpr size_t kPassage = 400;   // bytes after which the next line begins a passage
constexpr size_t kLongest = 2000;  // bytes of a passage

/// The end of the passage that begins at `begin`: of a line, or, in a long line, of a word or a
/// character. Bytes that are not UTF-8, which a ledger from elsewhere may hold, end anywhere.
size_t end_of_passage(std::string_view text, size_t begin) {
  if (text.size() - begin <= kPassage) return text.size();
  const std::string_view longest = text.substr(begin, kLongest);  // what is beyond is not looked at
  const size_t line = longest.find('\n', kPassage);
  if (line != std::string_view::npos) return begin + line + 1;
  if (begin + longest.size() == text.size()) return text.size();
  const size_t space = longest.rfind(' ');
  if (space != std::string_view::npos && space > 0) return begin + space + 1;
  const size_t characters = utf8::valid_prefix(longest);
  return begin + (characters > 0 ? characters : longest.size());
}

/// The words of a question as FTS5 reads them: any of them, none as an operator. Each counts once,
/// and of many the first: the index looks through a passage for every one.
std::string any_word_of(std::string_view question) {
  constexpr size_t kMostWords = 200;
  std::string query, word;
  std::set<std::string> words;
  const auto finish = [&] {
    if (!word.empty() && words.size() < kMostWords && words.insert(word).second)
      query += (query.empty() ? "\"" : " OR \"") + word + '"';
    word.clear();
  };
  utf8::CharacterCutter characters;
  characters.append(question, [&](std::string_view bytes, std::optional<char32_t> valid) {
    if (valid && is_in_words(*valid))
      word += bytes;
    else
      finish();
  });
  finish();
  return query;
}

/// How many line breaks of a passage stand before the first word that is marked in its excerpt.
int64_t breaks_before_found(std::string_view passage, std::string_view excerpt,
                            std::string_view marked) {
  constexpr std::string_view kCut = "…";
  if (marked.starts_with(kCut) && !excerpt.starts_with(kCut)) marked.remove_prefix(kCut.size());
  const auto [found, mark] = std::ranges::mismatch(excerpt, marked);
  const size_t place = passage.find(excerpt);
  const std::string_view before = passage.substr(0, place == std::string_view::npos ? 0 : place);
  return std::ranges::count(before, '\n') + std::count(excerpt.begin(), found, '\n');
}

/// A passage, and which words of a question it has, a bit each.
struct PassageWords {
  int64_t passage;
  uint64_t words;
};

/// The passages that have any of these words, in order. Numbers that only a ledger from elsewhere
/// can have are left out: those of the passages around them might not fit 64 bits.
std::vector<PassageWords> passages_with(const sqlite::Database& ledger,
                                        const std::vector<std::string>& words) {
  std::vector<PassageWords> found;
  Statement rows(ledger,
                 "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN 1 AND 1 << 40 "
                 "ORDER BY rowid");
  for (size_t word = 0; word < words.size(); ++word) {
    const auto before = std::ssize(found);
    rows.bind_all(std::string_view('"' + words[word] + '"'));
    while (rows.step()) found.push_back({rows.integer(0), uint64_t{1} << word});
    std::ranges::inplace_merge(found, found.begin() + before, {}, &PassageWords::passage);
  }
  std::vector<PassageWords> passages;
  for (const auto& [passage, word] : found)
    if (!passages.empty() && passages.back().passage == passage)
      passages.back().words |= word;
    else
      passages.push_back({passage, word});
  return passages;
}

/// Passages in a row, and which words of a question two of them have.
struct PassageRange {
  int64_t first, last;
  uint64_t words;

  size_t count() const { return std::popcount(words); }
};

/// Where two passages in a row have at least `least` of these words: with one on either side. Those
/// with most words come first.
std::vector<PassageRange> ranges_with(const sqlite::Database& ledger,
                                      const std::vector<std::string>& words, size_t least) {
  const std::vector<PassageWords> passages = passages_with(ledger, words);
  std::vector<PassageRange> ranges;
  for (auto passage = passages.begin(); passage != passages.end(); ++passage) {
    const auto next = std::next(passage);
    const bool in_a_row = next != passages.end() && next->passage == passage->passage + 1;
    PassageRange range = {passage->passage - 1, passage->passage + 2, passage->words};
    if (in_a_row) range.words |= next->words;
    if (range.count() < least) continue;
    if (!ranges.empty() && ranges.back().words == range.words && ranges.back().last >= range.first)
      ranges.back().last = range.last;
    else
      ranges.push_back(range);
  }
  std::ranges::stable_sort(ranges, std::greater(), &PassageRange::count);
  return ranges;
}

}  // namespace

bool Ledger::searchable() const {
  if (searchable_) return *searchable_;
  const bool is_searchable = format_ < 3 ? totals().documents == 0 : unindexed().empty();
  if (snapshot_) searchable_ = is_searchable;
  return is_searchable;
}

std::vector<StoredDocument> Ledger::unindexed() const {
  std::vector<StoredDocument> documents;
  visit_documents("WHERE tokens > 0 AND number NOT IN (SELECT document FROM passages)",
                  [&](StoredDocument&& document) { documents.push_back(std::move(document)); });
  return documents;
}

void Ledger::index(const StoredDocument& document, std::string_view text) {
  Statement passage(database_, "INSERT INTO passages (document, line) VALUES (?1, ?2)");
  Statement words(database_, "INSERT INTO words (rowid, text) VALUES (last_insert_rowid(), ?1)");
  int64_t line = 1;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = end_of_passage(text, begin);
    const std::string_view piece = text.substr(begin, end - begin);
    passage.bind_all(document.number, line);
    passage.run();
    words.bind_all(piece);
    words.run();
    line += std::ranges::count(piece, '\n');
    begin = end;
  }
}

void Ledger::delete_passages(const StoredDocument& document) {
  Statement(database_,
            "DELETE FROM words WHERE rowid IN (SELECT number FROM passages WHERE document = ?1)",
            document.number)
      .run();
  Statement(database_, "DELETE FROM passages WHERE document = ?1", document.number).run();
}

std::string Ledger::indexed_text(const StoredDocument& document) const {
  std::string text;
  if (format_ < 3) return text;
  Statement rows(database_,
                 "SELECT p.number, w.text FROM passages p JOIN words w ON w.rowid = p.number WHERE "
                 "p.document = ?1 ORDER BY p.number",
                 document.number);
  sqlite::Ascending numbers(database_, "passage");
  while (rows.step()) {
    numbers.next(rows.integer(0));
    text += rows.text(1);
  }
  return text;
}

void Ledger::check_index(const StoredDocument& document) const {
  const std::string digest = details(document).digest;
  if (digest.empty() || text_digest(indexed_text(document)) == digest) return;
  throw DataError(path(),
                  "the full-text index does not hold the text of '{}'; 'tessera memo verify "
                  "--repair' indexes the documents again",
                  document.id);
}

void Ledger::rebuild_index(const std::function<std::string(const StoredDocument&)>& text_of) {
  const std::vector<StoredDocument> all = documents();
  // No kill leaves this table: all is one transaction.
  database_.execute(
      "CREATE TABLE kept (document INTEGER, passage INTEGER, text TEXT, "
      "UNIQUE (document, passage))");
  for (const StoredDocument& document : all)
    if (only_index_holds_text(document, text_of(document)))
      Statement(database_,
                "INSERT INTO kept SELECT p.document, p.number, w.text FROM passages p JOIN words w "
                "ON w.rowid = p.number WHERE p.document = ?1",
                document.number)
          .run();
  empty_passage_index(database_);
  for (const StoredDocument& document : all) {
    std::string text;
    Statement kept(database_, "SELECT text FROM kept WHERE document = ?1 ORDER BY passage",
                   document.number);
    while (kept.step()) text += kept.text(0);
    index(document, text.empty() ? text_of(document) : text);
  }
  database_.execute("DROP TABLE kept");
}

bool Ledger::only_index_holds_text(const StoredDocument& document,
                                   std::string_view of_tokens) const {
  const std::string digest = details(document).digest;
  if (digest.empty() || text_digest(of_tokens) == digest) return false;
  try {
    return text_digest(indexed_text(document)) == digest;
  } catch (const DataError&) {  // the index is damaged there
    return false;
  }
}

std::vector<FoundPassage> Ledger::search(std::string_view question, int64_t limit) const {
  const std::string query = any_word_of(question);
  std::vector<FoundPassage> found;
  if (format_ < 3 || query.empty()) return found;
  Statement rows(
      database_,
      "SELECT d.id, p.line, -bm25(words), words.text, snippet(words, 0, '', '', '', 24), "
      "snippet(words, 0, '[', ']', '…', 24) FROM "
      "words JOIN passages p ON p.number = words.rowid JOIN documents d ON d.number = "
      "p.document WHERE words MATCH ?1 ORDER BY bm25(words), p.number LIMIT ?2",
      query, limit == 0 ? int64_t{-1} : limit);
  while (rows.step()) {
    FoundPassage passage = {.document = utf8::printable(rows.text(0)),
                            .score = rows.real(2),
                            .text = rows.text(4),
                            .marked = rows.text(5)};
    passage.line =
        rows.integer(1) + breaks_before_found(rows.text(3), passage.text, passage.marked);
    found.push_back(std::move(passage));
  }
  return found;
}

void Ledger::visit_neighbourhoods(const std::vector<std::string>& words, size_t least,
                                  const std::function<size_t(Neighbourhood&&)>& visit) const {
  if (format_ < 3) return;
  const std::vector<PassageRange> ranges = ranges_with(database_, words, least);
  Statement rows(database_,
                 "SELECT p.document, w.text, p.number FROM passages p JOIN words w ON w.rowid = "
                 "p.number WHERE p.number BETWEEN ?1 AND ?2 ORDER BY p.number");
  for (const PassageRange& range : ranges) {
    if (range.count() < least) return;
    rows.bind_all(range.first, range.last);
    Neighbourhood place = {.words = range.words};
    sqlite::Ascending numbers(database_, "passage");
    while (rows.step()) {
      numbers.next(rows.integer(2));
      if (rows.integer(0) != place.document && !place.text.empty())
        least = std::max(least, visit(std::exchange(place, {.words = range.words})));
      place.document = rows.integer(0);
      place.text += rows.text(1);
    }
    if (!place.text.empty()) least = std::max(least, visit(std::move(place)));
  }
}

}  // namespace tessera::store
