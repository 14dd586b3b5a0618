#include "tessera/store/text_search.h"

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/text_matcher.h"
#include "tessera/base/utf8.h"
#include "tessera/store/detail/normal_form.h"
#include "tessera/store/digest.h"

namespace tessera::store {

void TextPlace::step_over(std::string_view bytes) {
  byte += std::ssize(bytes);
  for (const char each : bytes) {
    character += !utf8::continues_character(each);
    line += each == '\n';
  }
}

void read_text(const Ledger& ledger, const Tokenizer& tokenizer, const StoredDocument& document,
               const std::function<void(int32_t token, std::string_view bytes)>& take) {
  const memo::TokenPieces pieces = ledger.pieces(document);
  for (auto piece = pieces(); !piece.empty(); piece = pieces())
    for (const int32_t token : piece)
      if (token != tokenizer.end_of_text()) take(token, tokenizer.token_bytes(token));
}

std::string whole_text(const Ledger& ledger, const Tokenizer& tokenizer,
                       const StoredDocument& document) {
  std::string text;
  read_text(ledger, tokenizer, document, [&](int32_t, std::string_view bytes) { text += bytes; });
  return text;
}

std::string memorized_text(const Ledger& ledger, const Tokenizer& tokenizer,
                           const StoredDocument& document) {
  std::string text = whole_text(ledger, tokenizer, document);
  const std::string digest = ledger.details(document).digest;
  if (digest.empty() || text_digest(text) == digest) return text;  // empty: of an earlier version
  std::string indexed = ledger.indexed_text(document);
  return text_digest(indexed) == digest ? indexed : text;
}

DocumentDetails known_details(const Ledger& ledger, const Tokenizer& tokenizer,
                              const StoredDocument& document) {
  DocumentDetails details = ledger.details(document);
  if (!details.digest.empty()) return details;
  const std::string text = whole_text(ledger, tokenizer, document);
  details.bytes = std::ssize(text);
  details.digest = text_digest(text);
  return details;
}

namespace {

constexpr size_t kContextBytes = 60;
constexpr size_t kSeenBytes = kContextBytes + 1;  // the last one tells whether the line goes on

/// Shows the end of the line on which a match begins.
void show_before(TextMatch& match, std::string_view text) {
  text.remove_prefix(text.size() - std::min(text.size(), kSeenBytes));
  if (const size_t line = text.rfind('\n'); line != std::string_view::npos)
    text.remove_prefix(line + 1);
  match.goes_on_before = text.size() == kSeenBytes;
  if (match.goes_on_before) text.remove_prefix(1);
  while (!text.empty() && utf8::continues_character(text.front())) text.remove_prefix(1);
  match.before = text;
}

/// Shows the beginning of the rest of the line on which a match ends.
void show_after(TextMatch& match, std::string_view text) {
  text = text.substr(0, kSeenBytes);
  text = text.substr(0, text.find('\n'));
  match.goes_on_after = text.size() == kSeenBytes;
  text = text.substr(0, kContextBytes);
  match.after = text.substr(0, utf8::valid_prefix(text));
}

/// The match at document[begin, end). here: a place before it, which is moved to it.
TextMatch match_at(const std::string& id, std::string_view document, int64_t begin, int64_t end,
                   TextPlace& here) {
  const size_t first = begin, last = end, known = here.byte;
  here.step_over(document.substr(known, first - known));
  TextMatch match = {.document = id,
                     .line = here.line,
                     .byte = begin,
                     .character = here.character,
                     .text = std::string(document.substr(first, last - first)),
                     .before = {},
                     .after = {}};
  show_before(match, document.substr(0, first));
  show_after(match, document.substr(last));
  return match;
}

}  // namespace

bool find_text(std::string_view text, Matching matching, const std::string& id,
               std::string_view document, const std::function<bool(const MatchThere&)>& take) {
  constexpr size_t kPiece = 1 << 16;  // bytes, for each of which the normal form takes some 17
  const NormalForm typed(matching, text);
  check_argument(!typed.text().empty(), "find: the text is empty; say what to look for");
  TextMatcher sought(typed.text());
  NormalForm normal(matching);
  size_t read = 0;    // bytes of the normal form
  int64_t last = -1;  // where the last match begins
  TextPlace here;
  for (size_t at = 0; at < document.size(); at += kPiece) {
    normal.append(document.substr(at, kPiece));
    // A run of white space may go on in the next piece: then it belongs to the last byte, too.
    const size_t left = at + kPiece < document.size() ? 1 : 0;
    for (; read + left < normal.text().size(); ++read) {
      if (!sought.add(normal.text()[read])) continue;
      const int64_t begin = normal.begin(read + 1 - sought.size()), end = normal.end(read);
      if (std::exchange(last, begin) == begin) continue;
      if (!take([&] { return match_at(id, document, begin, end, here); })) return false;
    }
    const size_t done = read - std::min(read, sought.size() - 1);
    normal.drop(done);
    read -= done;
  }
  return true;
}

}  // namespace tessera::store
