#include "tessera/store/detail/word_alignment.h"

#include <algorithm>

#include "tessera/store/detail/normal_form.h"

namespace tessera::store {
namespace {

// Costs. Between matches of equally many differences, the one that has more of the words asked for
// is better: of a word that is missing all are there, and one that is wrong is one word less on
// either side.
constexpr int64_t kMissing = 64, kTooMany = kMissing + 2, kWrong = kMissing + 4, kPart = 1;

bool is_word_alone(char32_t character) {
  if (character < 0x0E00) return false;
  return is_in(character, 0x0E00, 0x0E7F) || is_in(character, 0x2E80, 0x9FFF) ||
         is_in(character, 0xAC00, 0xD7AF) || is_in(character, 0xF900, 0xFAFF) ||
         is_in(character, 0x20000, 0x3FFFF);
}

bool is_of_word(char32_t character) {
  if (character < 0x80)
    return is_in(character, U'a', U'z') || is_in(character, U'A', U'Z') ||
           is_in(character, U'0', U'9');
  return !utf8::is_space(character) && !is_in(character, 0x80, 0xBF) &&
         !is_in(character, 0x2000, 0x206F) && character != 0xFEFF;
}

}  // namespace

void WordCutter::append(std::string_view bytes, const std::function<void(const Word&)>& take) {
  characters_.append(bytes, [&](std::string_view own, std::optional<char32_t> valid) {
    const char32_t character = valid.value_or(0);
    const bool alone = is_word_alone(character);
    if (alone || !is_of_word(character)) finish(take);
    if (is_of_word(character)) {
      if (word_.text.empty()) word_.begin = read_;
      utf8::append(word_.text, lower_case(character));
    }
    read_ += static_cast<int64_t>(own.size());
    word_.end = read_;
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

void WordAlignment::restart() {
  cells_.assign(words_.size() + 1, {});
  for (size_t i = 0; i < cells_.size(); ++i) cells_[i].cost = kTooMany * static_cast<int64_t>(i);
  reach_ = words_.size();
}

int64_t WordAlignment::cost_of(size_t i, const Word& word) const {
  const std::string& asked = words_[i];
  if (asked == word.text) return 0;
  if ((i == 0 && word.text.ends_with(asked)) ||
      (cut_ && i + 1 == words_.size() && word.text.starts_with(asked)))
    return kPart;
  return kWrong;
}

void WordAlignment::read(const Word& word, int64_t most,
                         const std::function<void(const WordMatch&)>& take) {
  const int64_t bound = kMissing * (most + 1);  // costs too much
  const size_t reached = reach_;
  reach_ = 0;
  Cell diagonal = {0, word.begin, word.begin};  // cells_[i - 1] before this word
  for (size_t i = 1; i < cells_.size(); ++i) {
    if (i > reached + 1 && cells_[i - 1].cost + kTooMany >= bound) break;
    const Cell before = i > reached ? Cell{bound} : cells_[i];
    const int64_t cost = cost_of(i - 1, word);
    Cell best = {diagonal.cost + cost, diagonal.begin, word.end, diagonal.missing};
    if (cost == kPart) {  // of the document's word only the part that was asked for
      const auto part = static_cast<int64_t>(words_[i - 1].size());
      if (i == 1 && word.text.ends_with(words_[0]))
        best.begin = word.end - part;
      else
        best.end = word.begin + part;
    }
    if (before.cost + kMissing < best.cost)  // the document has a word more
      best = {before.cost + kMissing, before.begin, before.end, before.missing + 1};
    const Cell& shorter = cells_[i - 1];
    if (i > 1 && shorter.cost + kTooMany < best.cost)  // the question has a word more
      best = {shorter.cost + kTooMany, shorter.begin, shorter.end, shorter.missing};
    diagonal = before;
    cells_[i] = best;
    if (best.cost < bound) reach_ = i;
  }
  if (reach_ < words_.size()) return;
  const Cell& all = cells_.back();
  if (all.end > word.begin)
    take({all.begin, all.end, all.cost / kMissing, all.missing, all.cost % kMissing});
}

}  // namespace tessera::store
