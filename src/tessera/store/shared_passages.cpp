#include "tessera/store/shared_passages.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

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
  /// Those of a document; returns how many words it has.
  int64_t add(const Ledger& ledger, const Tokenizer& tokenizer, const StoredDocument& document) {
    int64_t words = 0;
    for_each_word(ledger, tokenizer, document, [&](const RecentWords&, int64_t) { ++words; });
    if (words == 0) return 0;
    const size_t length = std::min<size_t>(kShortestPassage, words);
    lengths_.insert(length);
    for_each_word(ledger, tokenizer, document, [&](const RecentWords& last, int64_t) {
      if (last.size() >= length) windows_.insert(last.hash(length));
    });
    return words;
  }

  /// How many of these words, the last ones, are in a passage that ends with them; 0 if none does.
  size_t length_at(const RecentWords& last) const {
    const auto longest = std::ranges::find_if(lengths_, [&](size_t length) {
      return last.size() >= length && windows_.contains(last.hash(length));
    });
    return longest == lengths_.end() ? 0 : *longest;
  }

 private:
  std::set<size_t, std::greater<>> lengths_;  // the longest first
  std::unordered_set<size_t> windows_;
};

}  // namespace

std::vector<SharedPassages> shared_passages(const Ledger& ledger, const Tokenizer& tokenizer,
                                            const std::vector<StoredDocument>& documents,
                                            const OnProgress& on_progress) {
  SoughtPassages sought;
  std::set<int64_t> own;
  int64_t words = 0;
  for (const StoredDocument& document : documents) {
    own.insert(document.number);
    words += sought.add(ledger, tokenizer, document);
  }
  std::vector<SharedPassages> found;
  if (words == 0) return found;
  const std::vector<StoredDocument> all = ledger.documents();
  for (size_t n = 0; n < all.size(); ++n) {
    on_progress(n, std::ssize(all));
    if (own.contains(all[n].number)) continue;
    SharedPassages passages{.document = all[n].id};
    std::vector<bool> is_shared;  // of each word
    for_each_word(ledger, tokenizer, all[n], [&](const RecentWords& last, int64_t line) {
      is_shared.push_back(false);
      const size_t length = sought.length_at(last);
      if (length > 0 && passages.words == 0) passages.line = line;
      for (auto word = is_shared.end() - length; word != is_shared.end(); ++word) {
        passages.words += !*word;
        *word = true;
      }
    });
    if (passages.words == 0) continue;
    passages.share =
        std::min(1.0, static_cast<double>(passages.words) / static_cast<double>(words));
    found.push_back(std::move(passages));
  }
  on_progress(std::ssize(all), std::ssize(all));
  std::ranges::stable_sort(found, std::greater(), &SharedPassages::words);
  return found;
}

}  // namespace tessera::store
