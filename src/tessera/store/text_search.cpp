#include "tessera/store/text_search.h"

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/text_matcher.h"
#include "tessera/base/utf8.h"
#include "tessera/store/detail/normal_form.h"
#include "tessera/store/digest.h"

namespace tessera::store {

namespace {

/// Moves a place on by these bytes.
void step_over(TextPlace& place, std::string_view bytes) {
  for (const char byte : bytes) {
    ++place.byte;
    place.character += !utf8::continues_character(byte);
    place.line += byte == '\n';
  }
}

}  // namespace

void read_text(const MemoStore& store, const StoredDocument& document,
               const std::function<void(int32_t token, std::string_view bytes)>& take) {
  read_text(store.ledger(), store.tokenizer(), document, take);
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

std::vector<TextPlace> places_of(const MemoStore& store, const StoredDocument& document,
                                 std::span<const int64_t> positions) {
  const Tokenizer& tokenizer = store.tokenizer();
  std::vector<TextPlace> steps(static_cast<size_t>(tokenizer.vocabulary_size()), {.line = 0});
  for (int32_t token = 0; token < tokenizer.vocabulary_size(); ++token)
    if (token != tokenizer.end_of_text() && tokenizer.has_token(token))
      step_over(steps[static_cast<size_t>(token)], tokenizer.token_bytes(token));
  std::vector<TextPlace> places;
  TextPlace here;
  int64_t position = 0;
  const auto pass = [&] {
    while (places.size() < positions.size() && positions[places.size()] <= position)
      places.push_back(here);
    return places.size() == positions.size();
  };
  const memo::TokenPieces pieces = store.ledger().pieces(document);
  for (auto piece = pieces(); !piece.empty() && !pass(); piece = pieces())
    for (const int32_t token : piece) {
      if (pass()) break;
      const TextPlace& step = steps[static_cast<size_t>(token)];
      here.byte += step.byte;
      here.character += step.character;
      here.line += step.line;
      ++position;
    }
  places.resize(positions.size(), here);
  return places;
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

/// The part of a document that is being searched.
class Passage {
 public:
  Passage(std::string_view text, Matching matching, const std::string& id)
      : sought_(std::string(text)), id_(id), normal_(matching) {}

  void append(std::string_view more) {
    passage_ += more;
    normal_.append(more);
  }

  /// Reports the matches that begin before the last `reserve` bytes, then drops what was searched.
  bool search(size_t reserve, const std::function<bool(const MatchThere&)>& take) {
    const std::string& normal = normal_.text();
    const size_t end = normal.size() - std::min(reserve, normal.size());
    for (; read_ < std::min(normal.size(), end + sought_.size() - 1); ++read_) {
      if (!sought_.add(normal[read_])) continue;
      const size_t begin = read_ + 1 - sought_.size();
      if (std::exchange(last_, normal_.begin(begin)) == normal_.begin(begin)) continue;
      if (!take([&] { return match(begin); })) return false;
    }
    drop(end);
    return true;
  }

 private:
  TextMatch match(size_t at) {
    const int64_t begin = normal_.begin(at), end = normal_.end(at + sought_.size() - 1);
    count_to(begin);
    const std::string_view passage = passage_;
    const auto first = static_cast<size_t>(begin - dropped_),
               last = static_cast<size_t>(end - dropped_);
    TextMatch match = {.document = id_,
                       .line = here_.line,
                       .byte = begin,
                       .character = here_.character,
                       .text = std::string(passage.substr(first, last - first)),
                       .before = {},
                       .after = {}};
    show_before(match, passage.substr(0, first));
    show_after(match, passage.substr(last));
    return match;
  }

  /// Counts the lines and characters before this byte of the document.
  void count_to(int64_t byte) {
    if (byte <= here_.byte) return;
    step_over(here_, std::string_view(passage_).substr(static_cast<size_t>(here_.byte - dropped_),
                                                       static_cast<size_t>(byte - here_.byte)));
  }

  /// Drops what lies before this byte of the normal form, where a match to come may begin, but for
  /// what such a match shows before it.
  void drop(size_t searched) {
    const int64_t kept = searched < normal_.text().size()
                             ? normal_.begin(searched)
                             : dropped_ + static_cast<int64_t>(passage_.size());
    const int64_t first = std::max(dropped_, kept - static_cast<int64_t>(kSeenBytes));
    count_to(first);
    passage_.erase(0, static_cast<size_t>(first - dropped_));
    dropped_ = first;
    normal_.drop(searched);
    read_ -= searched;
  }

  TextMatcher sought_;
  const std::string& id_;
  std::string passage_;
  NormalForm normal_;
  size_t read_ = 0;      // bytes of the normal form that are compared
  int64_t dropped_ = 0;  // bytes of the document before passage_
  int64_t last_ = -1;    // byte of the document where the last match begins
  TextPlace here_;       // up to which lines and characters are counted
};

}  // namespace

TextPieces in_pieces(std::string text) {
  return [text = std::move(text), begin = size_t{0}]() mutable {
    constexpr size_t kPiece = 1 << 16;
    const auto piece = std::string_view(text).substr(begin, kPiece);
    begin += piece.size();
    return piece;
  };
}

bool find_text(std::string_view text, Matching matching, const std::string& id,
               const TextPieces& document, const std::function<bool(const MatchThere&)>& take) {
  NormalForm sought(matching);
  sought.append(text);
  check_argument(!sought.text().empty(), "find: the text is empty; say what to look for");
  Passage passage(sought.text(), matching, id);
  for (auto piece = document(); !piece.empty(); piece = document()) {
    passage.append(piece);
    if (!passage.search(sought.text().size() + kSeenBytes, take)) return false;
  }
  return passage.search(0, take);
}

}  // namespace tessera::store
