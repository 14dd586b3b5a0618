#include "tessera/store/detail/passage_index.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <utility>

#include "tessera/data/utf8.h"
#include "tessera/store/sqlite.h"

namespace tessera::store {
namespace {

using sqlite::Statement;

constexpr size_t kPassage = 400;   // bytes after which the next line begins a passage
constexpr size_t kLongest = 2000;  // bytes of a passage

/// The end of the passage that begins at `begin`: of a line, or, in a long line, of a word or a
/// character.
size_t end_of_passage(std::string_view text, size_t begin) {
  if (text.size() - begin <= kPassage) return text.size();
  const size_t most = std::min(text.size(), begin + kLongest);
  const size_t line = text.find('\n', begin + kPassage);
  if (line < most) return line + 1;
  if (most == text.size()) return most;
  const size_t space = text.rfind(' ', most - 1);
  if (space != std::string_view::npos && space > begin) return space + 1;
  return begin + utf8::valid_prefix(text.substr(begin, most - begin));
}

/// The words of a question as FTS5 reads them: any of them, none as an operator.
std::string any_word_of(std::string_view question) {
  std::string query, word;
  const auto finish = [&] {
    if (!word.empty()) query += (query.empty() ? "\"" : " OR \"") + word + '"';
    word.clear();
  };
  for (const char c : question) {
    const bool letter =
        static_cast<unsigned char>(c) >= 128 || std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter)
      word += c;
    else
      finish();
  }
  finish();
  return query;
}

/// Passages in a row, and how many different words of a question two of them have.
struct PassageRange {
  int64_t first, last;
  size_t words;
};

/// Where two passages in a row have at least `least` of these words: with one on either side.
std::vector<PassageRange> ranges_with(const sqlite::Database& ledger,
                                      const std::vector<std::string>& words, size_t least) {
  std::map<int64_t, uint64_t> held;  // from passage to which words it has, a bit each
  for (size_t word = 0; word < words.size(); ++word) {
    Statement rows(ledger, "SELECT rowid FROM words WHERE words MATCH ?1", '"' + words[word] + '"');
    while (rows.step()) held[rows.integer(0)] |= uint64_t{1} << word;
  }
  std::vector<PassageRange> ranges;
  for (auto passage = held.begin(); passage != held.end(); ++passage) {
    const auto next = std::next(passage);
    const bool in_a_row = next != held.end() && next->first == passage->first + 1;
    const uint64_t both = passage->second | (in_a_row ? next->second : 0);
    const auto count = static_cast<size_t>(std::popcount(both));
    if (count < least) continue;
    const int64_t first = passage->first - 1, last = passage->first + 2;
    if (!ranges.empty() && ranges.back().last >= first)
      ranges.back() = {ranges.back().first, last, std::max(ranges.back().words, count)};
    else
      ranges.push_back({first, last, count});
  }
  return ranges;
}

}  // namespace

void index_passages(const sqlite::Database& ledger, int64_t document, std::string_view text) {
  Statement passage(ledger, "INSERT INTO passages (document, line) VALUES (?1, ?2)", document,
                    int64_t{1});
  Statement words(ledger, "INSERT INTO words (rowid, text) VALUES (last_insert_rowid(), ?1)",
                  std::string_view());
  int64_t line = 1;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = end_of_passage(text, begin);
    const std::string_view piece = text.substr(begin, end - begin);
    passage.bind_all(document, line);
    passage.run();
    words.bind_all(piece);
    words.run();
    line += std::ranges::count(piece, '\n');
    begin = end;
  }
}

void delete_passages(const sqlite::Database& ledger, int64_t document) {
  Statement(ledger,
            "DELETE FROM words WHERE rowid IN (SELECT number FROM passages WHERE document = ?1)",
            document)
      .run();
  Statement(ledger, "DELETE FROM passages WHERE document = ?1", document).run();
}

std::string indexed_text(const sqlite::Database& ledger, int64_t document) {
  std::string text;
  Statement rows(ledger,
                 "SELECT w.text FROM passages p JOIN words w ON w.rowid = p.number WHERE "
                 "p.document = ?1 ORDER BY p.number",
                 document);
  while (rows.step()) text += rows.text(0);
  return text;
}

std::vector<int64_t> documents_without_passages(const sqlite::Database& ledger) {
  std::vector<int64_t> numbers;
  Statement rows(ledger,
                 "SELECT number FROM documents WHERE tokens > 0 AND number NOT IN (SELECT document "
                 "FROM passages) ORDER BY number");
  while (rows.step()) numbers.push_back(rows.integer(0));
  return numbers;
}

std::vector<FoundPassage> find_passages(const sqlite::Database& ledger, std::string_view question,
                                        int64_t limit) {
  const std::string query = any_word_of(question);
  std::vector<FoundPassage> found;
  if (query.empty()) return found;
  Statement rows(ledger,
                 "SELECT d.id, p.line, -bm25(words), snippet(words, 0, '[', ']', '…', 24) FROM "
                 "words JOIN passages p ON p.number = words.rowid JOIN documents d ON d.number = "
                 "p.document WHERE words MATCH ?1 ORDER BY bm25(words), p.number LIMIT ?2",
                 query, limit == 0 ? int64_t{-1} : limit);
  while (rows.step())
    found.push_back({utf8::printable(rows.text(0)), rows.integer(1), rows.real(2),
                     utf8::printable(rows.text(3))});
  return found;
}

void visit_neighbourhoods(const sqlite::Database& ledger, const std::vector<std::string>& words,
                          size_t least, const std::function<size_t(Neighbourhood&&)>& visit) {
  std::vector<PassageRange> ranges = ranges_with(ledger, words, least);
  std::ranges::stable_sort(ranges, std::greater(), &PassageRange::words);
  Statement rows(ledger,
                 "SELECT p.document, w.text FROM passages p JOIN words w ON w.rowid = p.number "
                 "WHERE p.number BETWEEN ?1 AND ?2 ORDER BY p.number",
                 int64_t{0}, int64_t{0});
  for (const PassageRange& range : ranges) {
    if (range.words < least) return;
    rows.bind_all(range.first, range.last);
    Neighbourhood place;
    while (rows.step()) {
      if (rows.integer(0) != place.document && !place.text.empty())
        least = std::max(least, visit(std::exchange(place, {})));
      place.document = rows.integer(0);
      place.text += rows.text(1);
    }
    if (!place.text.empty()) least = std::max(least, visit(std::move(place)));
  }
}

}  // namespace tessera::store
