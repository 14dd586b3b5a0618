#include "tessera/store/question.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/store/detail/normal_form.h"
#include "tessera/store/detail/word_alignment.h"
#include "tessera/store/digest.h"
#include "tessera/store/memo_store.h"
#include "tessera/store/recall.h"
#include "tessera/store/text_search.h"

namespace tessera::store {
namespace {

constexpr size_t kWords = 32;     // looked for, the last ones; or one for each token of a window
constexpr size_t kPlaces = 1024;  // looked at, of those that fit equally well
constexpr size_t kIndexedWords = 6;

int64_t differences_allowed(size_t words) {
  return words < 3 ? 0 : 1 + words / 8;
}

/// Of three words only two would be left of one that is wrong or too many.
bool is_enough(const WordMatch& match, size_t words) {
  return words > 3 || match.differences == match.missing;
}

/// The last words of a question, and what stands behind them.
struct LastWords {
  std::vector<Word> words;
  std::string_view tail;
};

LastWords last_words(std::string_view typed, size_t most) {
  LastWords last = {words_of(typed), {}};
  if (last.words.size() > most) last.words.erase(last.words.begin(), last.words.end() - most);
  if (!last.words.empty()) last.tail = typed.substr(last.words.back().end);
  return last;
}

/// Where a question's words stand.
struct Place {
  int64_t document;  // its number
  WordMatch match;
  std::shared_ptr<const std::string> part = nullptr;  // of its text, that the match's bytes are of
};

/// The first places with the fewest differences, of what is read.
class BestPlaces {
 public:
  explicit BestPlaces(const LastWords& last)
      : words_(last.words.size()),
        most_(differences_allowed(words_)),
        most_absent_(most_),
        alignment_(last.words, last.tail.empty()) {}

  /// read(append): appends the bytes of a text that `place` is in, which lacks these words.
  template <typename Read>
  void add(const Place& place, const std::vector<std::string>& absent, Read&& read) {
    alignment_.restart(absent);
    const auto take_match = [&](const WordMatch& match) {
      if (!is_enough(match, words_)) return;
      const auto rank = [](const WordMatch& of) { return std::pair(of.differences, of.doubt); };
      if (!places_.empty() && rank(match) > rank(places_.front().match)) return;
      if (!places_.empty() && rank(match) < rank(places_.front().match)) places_.clear();
      if (places_.size() < kPlaces) places_.push_back({place.document, match, place.part});
      most_ = match.differences;
      most_absent_ = WordAlignment::most_absent(match);
    };
    const auto take_word = [&](const Word& word) { alignment_.read(word, most_, take_match); };
    WordCutter cutter;
    read([&](std::string_view bytes) { cutter.append(bytes, take_word); });
    cutter.finish(take_word);
  }

  /// How many of the words a further place may lack.
  size_t most_absent() const { return most_absent_; }

  /// In the order of the documents.
  std::vector<Place> take() {
    std::ranges::stable_sort(places_, {}, &Place::document);
    return std::move(places_);
  }

 private:
  size_t words_;
  int64_t most_;  // differences that a further place may have
  size_t most_absent_;
  WordAlignment alignment_;
  std::vector<Place> places_;
};

/// The longest words that the full-text index surely has, if a document has them: neither the first
/// nor the last, which may be parts of words. None where a character is of a script without spaces:
/// the index joins those with letters and digits beside them. Then all documents are read.
std::vector<std::string> indexed_words(const std::vector<Word>& words) {
  if (std::ranges::any_of(words, &Word::alone)) return {};
  std::set<std::string> different;
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string& word = words[i].text;
    const bool is_plain = std::ranges::all_of(
        word, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
    if (is_plain) different.insert(word);
  }
  std::vector<std::string> longest(different.begin(), different.end());
  std::ranges::stable_sort(longest, std::greater(), &std::string::size);
  if (longest.size() > kIndexedWords) longest.resize(kIndexedWords);
  return longest;
}

/// The index holds every text once more; a ledger from elsewhere may hold another there.
[[noreturn]] void refuse_index(const MemoStore& store) {
  throw DataError(store.ledger().path(), "its full-text index has a text that no document has");
}

std::vector<Place> best_places(const MemoStore& store, const LastWords& last) {
  BestPlaces places(last);
  const std::vector<std::string> words = indexed_words(last.words);
  const size_t most_absent = places.most_absent();
  if (words.size() > most_absent && store.ledger().searchable()) {
    store.ledger().visit_neighbourhoods(
        words, words.size() - most_absent, [&](Neighbourhood&& part) {
          const auto text = std::make_shared<const std::string>(std::move(part.text));
          std::vector<std::string> absent;
          for (size_t i = 0; i < words.size(); ++i)
            if ((part.words >> i & 1) == 0) absent.push_back(words[i]);
          places.add({part.document, {}, text}, absent, [&](auto&& append) { append(*text); });
          return words.size() - places.most_absent();
        });
    return places.take();
  }
  for (const StoredDocument& document : store.ledger().documents())
    places.add({document.number, {}}, {}, [&](auto&& append) {
      read_text(store.ledger(), store.tokenizer(), document,
                [&](int32_t, std::string_view bytes) { append(bytes); });
    });
  return places.take();
}

/// Bytes at the beginning of `text` that stand for `tail` in their normal form; what is not equal
/// ends it.
size_t bytes_for_tail(std::string_view text, std::string_view tail) {
  const NormalForm of_text(Matching::kLetters, text), of_tail(Matching::kLetters, tail);
  const auto end = std::ranges::mismatch(of_text.text(), of_tail.text()).in1;
  const size_t equal = end - of_text.text().begin();
  return equal == 0 ? 0 : of_text.end(equal - 1);
}

/// A document, or a part of one, of which some places are read.
struct DocumentText {
  std::string text;
  std::vector<int32_t> tokens;
  std::vector<size_t> begins = {0};  // of the tokens in the text, and its end

  void append(int32_t token, std::string_view bytes) {
    tokens.push_back(token);
    text += bytes;
    begins.push_back(text.size());
  }
  /// The last token that begins at this byte or before it; the number of tokens at the text's end.
  size_t token_at(size_t byte) const {
    return std::ranges::upper_bound(begins, byte) - begins.begin() - 1;
  }
};

DocumentText text_of(const MemoStore& store, const StoredDocument& document) {
  DocumentText whole;
  read_text(store.ledger(), store.tokenizer(), document,
            [&](int32_t token, std::string_view bytes) { whole.append(token, bytes); });
  return whole;
}

DocumentText text_of(const Tokenizer& tokenizer, std::string_view part) {
  DocumentText read;
  for (const int32_t token : tokenizer.encode(part))
    if (token != tokenizer.end_of_text()) read.append(token, tokenizer.token_bytes(token));
  return read;
}

/// The tokens of a place: from the one that the first word begins in, unless that has a part of
/// another word too, to the last one that ends within the question.
Question question_at(const DocumentText& document, const WordMatch& match, std::string_view tail) {
  const size_t word = match.begin;
  size_t end = match.end;
  const auto rest = std::string_view(document.text).substr(end, 2 * tail.size() + 64);
  end += rest.starts_with(tail) ? tail.size() : bytes_for_tail(rest, tail);
  size_t first = document.token_at(word);
  const std::string_view before =
      std::string_view(document.text).substr(document.begins[first], word - document.begins[first]);
  if (!words_of(before).empty()) ++first;
  const size_t last = std::max(first, document.token_at(end));
  Question question;
  question.tokens.assign(document.tokens.begin() + first, document.tokens.begin() + last);
  question.text = document.text.substr(word, end - word);
  question.rest = document.text.substr(document.begins[last], end - document.begins[last]);
  question.differences = match.differences;
  return question;
}

/// Whether a document has these tokens.
bool has_in_a_row(const Ledger& ledger, const StoredDocument& document,
                  std::span<const int32_t> tokens) {
  std::vector<int32_t> read;  // a piece, after so much of the one before that they may begin there
  const memo::TokenPieces pieces = ledger.pieces(document);
  for (auto piece = pieces(); !piece.empty(); piece = pieces()) {
    read.erase(read.begin(), read.end() - std::min(std::ssize(read), std::ssize(tokens) - 1));
    read.insert(read.end(), piece.begin(), piece.end());
    if (!std::ranges::search(read, tokens).empty()) return true;
  }
  return false;
}

/// How much of what was typed a document has: 0 all of it, 3 the words.
int likeness(const Question& reading, std::string_view typed) {
  for (const Matching matching : {Matching::kBytes, Matching::kTyped, Matching::kLetters})
    if (NormalForm(matching, reading.text).text() == NormalForm(matching, typed).text())
      return static_cast<int>(matching);
  return 3;
}

/// Whether a question of this likeness would be added: unless others are more like what was typed.
bool is_wanted(const Readings& readings, const Question& question, int likeness) {
  if (readings.questions.empty() || likeness < readings.likeness) return true;
  return likeness == readings.likeness && readings.questions.size() < Readings::kMost &&
         std::ranges::find(readings.questions, question.tokens, &Question::tokens) ==
             readings.questions.end();
}

void add_question(Readings& readings, Question&& question, int likeness) {
  if (!is_wanted(readings, question, likeness)) return;
  if (likeness < readings.likeness) readings.questions.clear();
  readings.likeness = likeness;
  readings.questions.push_back(std::move(question));
}

/// The texts that places are in, as they were read last.
class PlaceTexts {
 public:
  explicit PlaceTexts(const MemoStore& store) : store_(store) {}

  /// A tokenizer looks at each word alone, so a part alone has the document's tokens, but for words
  /// that it cuts.
  const DocumentText& text_around(const Place& place, const StoredDocument& document) {
    if (!place.part) return whole(document);
    if (part_ == place.part) return text_;
    part_ = place.part;
    return text_ = text_of(store_.tokenizer(), *part_);
  }
  /// The question of a place, from its whole document; without tokens if they cannot be told.
  Question question_in(const Place& place, const StoredDocument& document, std::string_view tail) {
    const DocumentText& text = whole(document);
    const size_t begin = text.text.find(*place.part);
    if (begin == std::string::npos) {
      const Ledger& ledger = store_.ledger();
      if (text_digest(ledger.indexed_text(document)) != ledger.details(document).digest)
        refuse_index(store_);
      return {};  // the tokenizer drops white space that the text has
    }
    WordMatch match = place.match;
    match.begin += begin;
    match.end += begin;
    return question_at(text, match, tail);
  }

 private:
  const DocumentText& whole(const StoredDocument& document) {
    if (number_ == document.number) return whole_;
    number_ = document.number;
    return whole_ = text_of(store_, document);
  }

  const MemoStore& store_;
  std::shared_ptr<const std::string> part_;
  DocumentText text_, whole_;
  int64_t number_ = 0;  // of the document that whole_ is
};

}  // namespace

Readings MemoStore::readings(std::string_view typed) const {
  const auto lengths = memo::window_lengths(config().memory);
  const LastWords last = last_words(typed, std::max<size_t>(kWords, lengths.back()));
  Readings readings;
  if (last.words.empty()) return readings;
  PlaceTexts texts(*this);
  for (const Place& place : best_places(*this, last)) {
    readings.differences = place.match.differences;
    readings.doubt = place.match.doubt;
    const std::optional<StoredDocument> found = ledger().find_number(place.document);
    if (!found) refuse_index(*this);
    const StoredDocument& document = *found;
    const auto take = [&](Question&& question, bool is_sure) {
      question.text.insert(0, typed.substr(0, last.words.front().begin));
      if (std::ssize(question.tokens) < lengths.front()) return true;
      const int like = likeness(question, typed);
      if (!is_wanted(readings, question, like)) return true;
      if (!is_sure && !has_in_a_row(ledger(), document, question.tokens)) return false;
      add_question(readings, std::move(question), like);
      return true;
    };
    const DocumentText& text = texts.text_around(place, document);
    const bool is_given_back = !place.part || text.text == *place.part;
    if (!is_given_back || !take(question_at(text, place.match, last.tail), !place.part))
      take(texts.question_in(place, document, last.tail), true);
  }
  return readings;
}

void Readings::merge(Readings&& later) {
  const auto rank = [](const Readings& of) { return std::pair(of.differences, of.doubt); };
  if (rank(later) > rank(*this)) return;
  if (rank(later) < rank(*this)) *this = Readings{later.differences, later.doubt, 0, {}};
  for (Question& question : later.questions)
    add_question(*this, std::move(question), later.likeness);
}

namespace {

Question as_typed(const Tokenizer& tokenizer, std::string_view typed) {
  try {
    return {tokenizer.encode(typed), "", std::string(typed), 0};
  } catch (const DataError& error) {
    throw UsageError("the prompt cannot be encoded: {}", error.what());
  }
}

}  // namespace

Question read_question(const QuestionedStore& store, std::string_view typed,
                       const RecallOptions& options) {
  if (options.exact) return as_typed(store.tokenizer(), typed);
  std::vector<Question> readings = store.readings(typed).questions;
  if (readings.empty() || readings.front().differences > 0)
    readings.push_back(as_typed(store.tokenizer(), typed));
  if (readings.size() == 1) return std::move(readings.front());
  std::vector<std::span<const int32_t>> contexts;
  for (const Question& reading : readings) contexts.push_back(reading.tokens);
  const auto next = StoreReader(store).next_of(contexts);
  const auto best = std::ranges::max_element(next, {}, &memo::NextToken::evidence) - next.begin();
  return std::move(readings[best]);
}

}  // namespace tessera::store
