#include "tessera/store/shared_passages.h"

#include <algorithm>
#include <deque>
#include <set>
#include <string_view>
#include <unordered_set>

#include "tessera/store/detail/word_alignment.h"
#include "tessera/store/text_search.h"

namespace tessera::store {
namespace {

constexpr size_t kShortestPassage = 12;  // in words

/// Calls take(hash of the last words, line) at each word that ends a window of `length` words.
template <typename Take>
void for_each_window(const Ledger& ledger, const Tokenizer& tokenizer,
                     const StoredDocument& document, size_t length, Take&& take) {
  std::deque<std::string> last;
  int64_t line = 1;
  const auto add = [&](const Word& word) {
    last.push_back(word.text);
    if (last.size() > length) last.pop_front();
    std::string window;
    for (const std::string& text : last) window += text + ' ';
    take(last.size() == length ? std::hash<std::string>()(window) : 0, line);
  };
  WordCutter cutter;
  read_text(ledger, tokenizer, document, [&](int32_t, std::string_view bytes) {
    cutter.append(bytes, add);
    line += std::ranges::count(bytes, '\n');
  });
  cutter.finish(add);
}

int64_t count_words(const Ledger& ledger, const Tokenizer& tokenizer,
                    const StoredDocument& document) {
  int64_t words = 0;
  for_each_window(ledger, tokenizer, document, 1, [&](size_t, int64_t) { ++words; });
  return words;
}

}  // namespace

std::vector<SharedPassages> shared_passages(
    const Ledger& ledger, const Tokenizer& tokenizer, const std::vector<StoredDocument>& documents,
    const std::function<void(int64_t done, int64_t of)>& on_progress) {
  std::unordered_set<size_t> sought;  // windows
  std::set<size_t> lengths;
  std::set<int64_t> own;
  int64_t words = 0;
  for (const StoredDocument& document : documents) {
    own.insert(document.number);
    const int64_t count = count_words(ledger, tokenizer, document);
    if (count == 0) continue;
    words += count;
    const size_t length = std::min(kShortestPassage, static_cast<size_t>(count));
    lengths.insert(length);
    for_each_window(ledger, tokenizer, document, length, [&](size_t window, int64_t) {
      if (window != 0) sought.insert(window);
    });
  }
  std::vector<SharedPassages> found;
  const std::vector<StoredDocument> all = ledger.documents();
  for (size_t n = 0; n < all.size(); ++n) {
    on_progress(static_cast<int64_t>(n), std::ssize(all));
    if (own.contains(all[n].number)) continue;
    SharedPassages passages{.document = all[n].id};
    for (const size_t length : lengths) {
      int64_t word = 0, covered = 0;
      for_each_window(ledger, tokenizer, all[n], length, [&](size_t window, int64_t line) {
        ++word;
        if (window == 0 || !sought.contains(window)) return;
        if (passages.words == 0) passages.line = line;
        passages.words += word - std::max(covered, word - static_cast<int64_t>(length));
        covered = word;
      });
    }
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
