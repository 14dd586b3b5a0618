#include "tessera/store/shared_passages.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tessera/store/detail/word_alignment.h"
#include "tessera/store/text_search.h"

namespace tessera::store {
namespace {

constexpr size_t kShortestPassage = 12;  // in words

/// The last words of a text, as many as a passage has at least, as a hash of all words up to each
/// (Karp & Rabin 1987).
class RecentWords {
 public:
  void add(const std::string& word) {
    up_to_.push_back(up_to_.back() * kBase + std::hash<std::string>()(word));
    if (up_to_.size() > kShortestPassage + 1) up_to_.pop_front();
  }
  size_t size() const { return up_to_.size() - 1; }
  /// Of the last ones, so many.
  size_t hash(size_t length) const {
    size_t before = up_to_[size() - length];
    for (size_t i = 0; i < length; ++i) before *= kBase;
    return up_to_.back() - before;
  }

 private:
  static constexpr size_t kBase = 0x9E3779B97F4A7C15;

  std::deque<size_t> up_to_ = {0};
};

/// Calls take(words, line) at each word: the last ones, as many as a passage has at least.
template <typename Take>
void for_each_word(const Ledger& ledger, const Tokenizer& tokenizer, const StoredDocument& document,
                   Take&& take) {
  RecentWords last;
  int64_t line = 1;
  const auto add = [&](const Word& word) {
    last.add(word.text);
    take(last, line);
  };
  WordCutter cutter;
  const std::string text = memorized_text(ledger, tokenizer, document);
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    cutter.append(std::string_view(text).substr(begin, end - begin), add);
    line += text[end - 1] == '\n';
  }
  cutter.finish(add);
}

/// The passages that are looked for, as hashes of their windows of words.
class SoughtPassages {
 public:
  /// Windows found in a document: the length of each by its hash.
  using Found = std::unordered_map<size_t, size_t>;

  /// Adds those of a document.
  void add(const Ledger& ledger, const Tokenizer& tokenizer, const StoredDocument& document) {
    size_t end = windows_of_.size();
    for_each_word(ledger, tokenizer, document,
                  [&](const RecentWords&, int64_t) { windows_of_.push_back(0); });
    const size_t length = std::min(kShortestPassage, windows_of_.size() - end);
    if (length == 0) return;
    lengths_.insert(length);
    for_each_word(ledger, tokenizer, document, [&](const RecentWords& last, int64_t) {
      ++end;
      if (last.size() >= length) ends_.emplace(last.hash(length), end);
    });
  }
  int64_t words() const { return std::ssize(windows_of_); }

  /// How many of these words, the last ones, are in a passage that ends with them; 0 if none does.
  size_t length_at(const RecentWords& last, Found& found) const {
    size_t longest = 0;
    for (const size_t length : lengths_) {
      if (last.size() < length || !ends_.contains(last.hash(length))) continue;
      found.emplace(last.hash(length), length);
      longest = length;
    }
    return longest;
  }
  /// How many words of the documents are in what was found in another one. Only what was not found
  /// in the one before, or is not found again, is looked at: many letters may end with one text.
  int64_t words_in(const Found& found) {
    std::erase_if(counted_, [&](const auto& window) {
      const bool is_gone = !found.contains(window.first);
      if (is_gone) count(window.first, window.second, -1);
      return is_gone;
    });
    for (const auto& [hash, length] : found)
      if (counted_.emplace(hash, length).second) count(hash, length, 1);
    return words_found_;
  }

 private:
  /// Counts a window's words, or, with a change of -1, no longer.
  void count(size_t hash, size_t length, int change) {
    for (auto [end, last] = ends_.equal_range(hash); end != last; ++end)
      for (size_t word = end->second - length; word < end->second; ++word) {
        words_found_ -= windows_of_[word] > 0;
        windows_of_[word] += change;
        words_found_ += windows_of_[word] > 0;
      }
  }

  std::set<size_t> lengths_;                      // the shortest first
  std::unordered_multimap<size_t, size_t> ends_;  // of each window: where its last word ends
  std::vector<int> windows_of_;                   // of each word: how many counted ones have it
  Found counted_;
  int64_t words_found_ = 0;  // in the counted windows
};

}  // namespace

std::vector<SharedPassages> shared_passages(const Ledger& ledger, const Tokenizer& tokenizer,
                                            const std::vector<StoredDocument>& documents,
                                            const OnProgress& on_progress) {
  SoughtPassages sought;
  std::set<int64_t> own;
  for (const StoredDocument& document : documents) {
    own.insert(document.number);
    sought.add(ledger, tokenizer, document);
  }
  std::vector<SharedPassages> found;
  if (sought.words() == 0) return found;
  const std::vector<StoredDocument> all = ledger.documents();
  for (size_t n = 0; n < all.size(); ++n) {
    if (on_progress) on_progress(n, std::ssize(all));
    if (own.contains(all[n].number)) continue;
    SharedPassages passages{.document = all[n].id};
    std::vector<bool> is_shared;  // of each word
    SoughtPassages::Found windows;
    for_each_word(ledger, tokenizer, all[n], [&](const RecentWords& last, int64_t line) {
      is_shared.push_back(false);
      const size_t length = sought.length_at(last, windows);
      if (length > 0 && passages.words == 0) passages.line = line;
      for (auto word = is_shared.end() - length; word != is_shared.end(); ++word) {
        passages.words += !*word;
        *word = true;
      }
    });
    if (passages.words == 0) continue;
    passages.share =
        static_cast<double>(sought.words_in(windows)) / static_cast<double>(sought.words());
    found.push_back(std::move(passages));
  }
  if (on_progress) on_progress(std::ssize(all), std::ssize(all));
  std::ranges::stable_sort(found, std::greater(), &SharedPassages::words);
  return found;
}

}  // namespace tessera::store
