#include "tessera/store/detail/word_alignment.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tessera/store/detail/normal_form.h"

namespace tessera::store {
namespace {

// Costs. Between matches of equally many differences, the one that has more of the words asked for
// is better: where one is missing or two are swapped all are there, and one that is wrong is one
// word less on either side.
constexpr int64_t kMissing = 64, kSwapped = kMissing + 1, kTooMany = kMissing + 2,
                  kWrong = kMissing + 4, kPart = 1;

bool is_word_alone(char32_t character) {
  if (character < 0x0E00) return false;
  return is_in(character, 0x0E00, 0x0E7F) || is_in(character, 0x2E80, 0x9FFF) ||
         is_in(character, 0xAC00, 0xD7AF) || is_in(character, 0xF900, 0xFAFF) ||
         is_in(character, 0x20000, 0x3FFFF);
}

/// By character of ASCII, as it stands in a word; 0 if it stands in none.
constexpr auto kInWord = [] {
  std::array<char, 0x80> in_word{};
  for (char c = 'a'; c <= 'z'; ++c) in_word[c] = in_word[c - 'a' + 'A'] = c;
  for (char c = '0'; c <= '9'; ++c) in_word[c] = c;
  return in_word;
}();

/// Whether a character is a sign of a currency, an arrow, of mathematics, a shape or a picture.
/// Numbers in circles, which stand among them, are in words.
bool is_symbol(char32_t character) {
  return character == U'×' || character == U'÷' || is_in(character, 0x20A0, 0x20CF) ||
         is_in(character, 0x2190, 0x245F) || is_in(character, 0x2500, 0x2775) ||
         is_in(character, 0x2794, 0x2BFF) || is_in(character, 0xFE00, 0xFE0F) ||
         is_in(character, 0x1F000, 0x1FAFF);
}

/// Whether a character beyond ASCII stands between words, for SQLite's index, too.
bool is_between(char32_t character) {
  constexpr std::u32string_view kInWords = U"ª²³µ¹º¼½¾", kOthers = U"、。〃〄〰・\uFEFF";
  if (is_in(character, 0x80, 0xBF)) return kInWords.find(character) == kInWords.npos;
  return utf8::is_space(character) || is_symbol(character) || is_in(character, 0x2000, 0x206F) ||
         is_in(character, 0x3008, 0x3020) || is_in(character, 0xFF01, 0xFF0F) ||
         is_in(character, 0xFF1A, 0xFF20) || is_in(character, 0xFF3B, 0xFF40) ||
         is_in(character, 0xFF5B, 0xFF65) || kOthers.find(character) != kOthers.npos;
}

/// The character as it stands in a word; 0 if it stands in none.
char32_t in_word(char32_t character) {
  if (character < kInWord.size()) return static_cast<char32_t>(kInWord[character]);
  return is_between(character) ? 0 : lower_case(character);
}

}  // namespace

bool is_in_words(char32_t character) {
  return in_word(character) != 0;
}

void WordCutter::append(std::string_view bytes, const std::function<void(const Word&)>& take) {
  characters_.append(bytes, [&](std::string_view own, std::optional<char32_t> valid) {
    const int64_t begin = std::exchange(read_, read_ + std::ssize(own));
    const char32_t character = in_word(valid.value_or(0));
    if (character == 0) return finish(take);
    const bool alone = is_word_alone(character);
    if (alone) finish(take);
    if (word_.text.empty()) word_.begin = begin;
    utf8::append(word_.text, character);
    word_.end = read_;
    word_.alone = alone;
    if (alone) finish(take);
  });
}

void WordCutter::finish(const std::function<void(const Word&)>& take) {
  if (word_.text.empty()) return;
  take(word_);
  word_.text.clear();
}

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  const auto take = [&](const Word& word) { words.push_back(word); };
  WordCutter cutter;
  cutter.append(text, take);
  cutter.finish(take);
  return words;
}

WordAlignment::WordAlignment(const std::vector<Word>& words, bool cut) : cut_(cut) {
  for (const Word& word : words) words_.push_back(word.text);
  restart();
}

void WordAlignment::restart(const std::vector<std::string>& absent) {
  for (Row* row : {&row_, &last_, &last_but_one_}) row->cells.assign(words_.size() + 1, {});
  for (size_t i = 0; i <= words_.size(); ++i) row_.cells[i].cost = kTooMany * i;
  row_.reach = words_.size();
  last_word_.clear();
  least_behind_.assign(words_.size() + 1, 0);
  for (size_t i = words_.size(); i-- > 0;) {
    const bool may_be_part = cut_ && i + 1 == words_.size();
    const bool lacks = !may_be_part && std::ranges::find(absent, words_[i]) != absent.end();
    least_behind_[i] = least_behind_[i + 1] + (lacks ? kTooMany : 0);
  }
}

int64_t WordAlignment::most_absent(const WordMatch& match) {
  return (match.differences * kMissing + match.doubt) / kTooMany;
}

int64_t WordAlignment::cost_of(size_t i, const Word& word) const {
  const std::string& asked = words_[i];
  if (asked == word.text) return 0;
  if ((i == 0 && word.text.ends_with(asked)) ||
      (cut_ && i + 1 == words_.size() && word.text.starts_with(asked)))
    return kPart;
  return kWrong;
}

/// The cheapest way to match the first i >= 1 words with what ends at this word of the document.
WordAlignment::Cell WordAlignment::best_of(size_t i, const Word& word) const {
  static constexpr Cell kOutOfReach = {.cost = int64_t{1} << 62};
  const auto cell_of = [&](const Row& row, size_t words) -> const Cell& {
    return words > row.reach ? kOutOfReach : row.cells[words];
  };
  const Cell& matched = cell_of(last_, i - 1);
  const int64_t cost = cost_of(i - 1, word);
  Cell best = {matched.cost + cost, matched.begin, word.end, matched.missing};
  if (cost == kPart) {  // of the document's word only the part that was asked for
    const int64_t part = words_[i - 1].size();
    if (i == 1 && word.text.ends_with(words_[0]))
      best.begin = word.end - part;
    else
      best.end = word.begin + part;
  }
  const Cell& before = cell_of(last_, i);
  if (before.cost + kMissing < best.cost)  // the document has a word more
    best = {before.cost + kMissing, before.begin, before.end, before.missing + 1};
  const Cell& shorter = row_.cells[i - 1];
  if (i > 1 && shorter.cost + kTooMany < best.cost)  // the question has a word more
    best = {shorter.cost + kTooMany, shorter.begin, shorter.end, shorter.missing};
  if (i > 1 && cost == kWrong && words_[i - 2] == word.text && words_[i - 1] == last_word_) {
    const Cell& swapped = cell_of(last_but_one_, i - 2);
    if (swapped.cost + kSwapped < best.cost)
      best = {swapped.cost + kSwapped, swapped.begin, word.end, swapped.missing};
  }
  return best;
}

void WordAlignment::read(const Word& word, int64_t most,
                         const std::function<void(const WordMatch&)>& take) {
  const auto can_match = [&](size_t i, int64_t cost) {
    return cost + least_behind_[i] < kMissing * (most + 1);
  };
  std::swap(last_but_one_, last_);
  std::swap(last_, row_);
  last_.cells[0] = {0, word.begin, word.begin};
  row_.reach = 0;
  for (size_t i = 1; i <= words_.size(); ++i) {
    if (i > last_.reach + 1 && !can_match(i, row_.cells[i - 1].cost + kTooMany)) break;
    row_.cells[i] = best_of(i, word);
    if (can_match(i, row_.cells[i].cost)) row_.reach = i;
  }
  last_word_ = word.text;
  if (row_.reach < words_.size()) return;
  const Cell& all = row_.cells.back();
  if (all.end > word.begin)
    take({all.begin, all.end, all.cost / kMissing, all.missing, all.cost % kMissing});
}

}  // namespace tessera::store
