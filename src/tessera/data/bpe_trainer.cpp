#include "tessera/data/bpe_trainer.h"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/consecutive.h"
#include "tessera/base/error.h"
#include "tessera/data/detail/tokenizer_content.h"

namespace tessera {
namespace {

constexpr size_t kLongestWord = 256;  // bytes
constexpr int64_t kBytesBetweenCalls = 1 << 20;

using Pair = std::pair<int32_t, int32_t>;

struct PairHash {
  size_t operator()(const Pair& pair) const {
    uint64_t key = static_cast<uint64_t>(pair.first) << 32 | static_cast<uint32_t>(pair.second);
    key *= 0x9E3779B97F4A7C15;
    return key ^ key >> 32;
  }
};

struct Word {
  std::vector<int32_t> ids;
  int64_t count;
};

/// Where a pair occurs: the words may no longer hold it, and may be named twice.
struct Occurrences {
  int64_t count = 0;
  std::vector<uint32_t> words;
};

/// The pairs of all words, kept up to date while pairs are merged.
class PairTable {
 public:
  explicit PairTable(std::vector<Word> words) : words_(std::move(words)) {
    for (size_t index = 0; index < words_.size(); ++index)
      for (size_t i = 0; i + 1 < words_[index].ids.size(); ++i)
        add({words_[index].ids[i], words_[index].ids[i + 1]}, words_[index].count, index);
    for (const auto& [pair, occurrences] : pairs_) heap_.push({occurrences.count, pair});
    touched_.clear();
  }

  /// The most frequent pair and its count; a count of 0 if there is none.
  std::pair<Pair, int64_t> most_frequent() {
    while (!heap_.empty()) {
      const Entry top = heap_.top();
      const int64_t count = pairs_[top.pair].count;
      if (count == top.count && count > 0) return {top.pair, count};
      heap_.pop();
      // Counts only fall after an entry is made, or rise with a new entry of their own.
      if (count > 0 && count < top.count) heap_.push({count, top.pair});
    }
    return {};
  }

  /// Joins the pair everywhere.
  void merge(Pair pair, int32_t result) {
    std::vector<uint32_t> holders = std::move(pairs_[pair].words);
    std::sort(holders.begin(), holders.end());
    holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
    touched_.clear();
    for (uint32_t index : holders) merge_word(index, pair, result);
    pairs_.erase(pair);
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const Pair& other : touched_) {
      const auto found = pairs_.find(other);
      if (found != pairs_.end() && found->second.count > 0)
        heap_.push({found->second.count, other});
    }
  }

 private:
  struct Entry {
    int64_t count;
    Pair pair;
    bool operator<(const Entry& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  void add(Pair pair, int64_t count, size_t word) {
    Occurrences& occurrences = pairs_[pair];
    occurrences.count += count;
    if (occurrences.words.empty() || occurrences.words.back() != word)
      occurrences.words.push_back(static_cast<uint32_t>(word));
    touched_.push_back(pair);
  }

  void merge_word(uint32_t index, Pair pair, int32_t result) {
    Word& word = words_[index];
    auto& ids = word.ids;
    size_t kept = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i + 1 == ids.size() || Pair(ids[i], ids[i + 1]) != pair) {
        ids[kept++] = ids[i];
        continue;
      }
      if (kept > 0) {
        pairs_[{ids[kept - 1], pair.first}].count -= word.count;
        add({ids[kept - 1], result}, word.count, index);
      }
      if (i + 2 < ids.size()) {
        pairs_[{pair.second, ids[i + 2]}].count -= word.count;
        add({result, ids[i + 2]}, word.count, index);
      }
      ids[kept++] = result;
      ++i;
    }
    ids.resize(kept);
  }

  std::vector<Word> words_;
  std::unordered_map<Pair, Occurrences, PairHash> pairs_;
  std::priority_queue<Entry> heap_;
  std::vector<Pair> touched_;
};

/// The end of text and the bytes, in the order of Hugging Face's trainer.
TokenizerContent first_tokens(EndOfText end_of_text) {
  TokenizerContent content{ByteModel{}, {}, {}, {}};
  if (end_of_text == EndOfText::kPresent) {
    content.tokens.emplace_back(kEndOfTextName);
    content.added_tokens.push_back({std::string(kEndOfTextName), 0});
    content.end_of_text = 0;
  }
  std::vector<int> alphabet = consecutive<int>(256);
  std::ranges::sort(alphabet, {}, byte_to_character);
  for (int byte : alphabet) content.tokens.emplace_back(1, static_cast<char>(byte));
  return content;
}

std::array<int32_t, 256> ids_of_bytes(const TokenizerContent& content) {
  std::array<int32_t, 256> ids;
  for (size_t id = 0; id < content.tokens.size(); ++id)
    if (content.tokens[id].size() == 1)
      ids[static_cast<uint8_t>(content.tokens[id][0])] = static_cast<int32_t>(id);
  return ids;
}

template <typename Counts>
std::vector<Word> words_in_bytes(const Counts& counts, const std::array<int32_t, 256>& byte_ids) {
  std::vector<Word> words;
  for (const auto& [text, count] : counts) {
    Word& word = words.emplace_back(Word{{}, count});
    for (char byte : text) word.ids.push_back(byte_ids[static_cast<uint8_t>(byte)]);
  }
  return words;
}

}  // namespace

struct BpeTrainer::Words {
  PreTokenScanner scanner;
  std::unordered_map<std::string, int64_t, StringHash, std::equal_to<>> counts;
};

BpeTrainer::BpeTrainer(BpeTrainerConfig config)
    : config_(config), words_(std::make_unique<Words>()) {
  const int64_t smallest = fewest_tokens(config.end_of_text);
  check_argument(
      config.vocabulary_size >= smallest && config.vocabulary_size <= kMostTokens,
      "BpeTrainer: a vocabulary of {} tokens, expected {} (the bytes and the end of text) to {}",
      config.vocabulary_size, smallest, kMostTokens);
  check_argument(config.minimum_count >= 1, "BpeTrainer: a minimum count of {}, expected 1 or more",
                 config.minimum_count);
}

BpeTrainer::~BpeTrainer() = default;

void BpeTrainer::add_text(std::string_view text, const OnBytes& on_bytes) {
  text_bytes_ += std::ssize(text);
  auto& [scanner, counts] = *words_;
  scanner.start(text);
  int64_t told = 0;
  for (auto word = scanner.next(); !word.empty(); word = scanner.next()) {
    const int64_t counted = word.data() - text.data();
    if (on_bytes && counted - told >= kBytesBetweenCalls) on_bytes(told = counted);
    for (; !word.empty(); word.remove_prefix(std::min(kLongestWord, word.size()))) {
      const std::string_view part = word.substr(0, kLongestWord);
      const auto found = counts.find(part);
      if (found != counts.end()) {
        ++found->second;
      } else {
        counts.emplace(part, 1);
      }
    }
  }
}

Tokenizer BpeTrainer::train(const OnProgress& on_progress) const {
  if (words_->counts.empty())
    throw DataError("training text", "is empty: there is nothing to learn from");
  TokenizerContent content = first_tokens(config_.end_of_text);
  const std::array<int32_t, 256> byte_ids = ids_of_bytes(content);
  std::unordered_map<std::string, int32_t> ids;
  for (size_t id = 0; id < content.tokens.size(); ++id)
    ids.emplace(content.tokens[id], static_cast<int32_t>(id));

  PairTable pairs(words_in_bytes(words_->counts, byte_ids));
  std::vector<BpeModel::Merge> merges;
  while (std::ssize(content.tokens) < config_.vocabulary_size) {
    const auto [pair, count] = pairs.most_frequent();
    if (count < config_.minimum_count) break;
    std::string bytes = content.tokens[pair.first] + content.tokens[pair.second];
    // Two ways to make the same bytes share one token.
    const auto [found, is_new] = ids.emplace(bytes, static_cast<int32_t>(content.tokens.size()));
    if (is_new) content.tokens.push_back(std::move(bytes));
    merges.push_back({pair.first, pair.second, found->second});
    pairs.merge(pair, found->second);
    if (on_progress) on_progress(std::ssize(content.tokens), config_.vocabulary_size);
  }
  if (on_progress) on_progress(config_.vocabulary_size, config_.vocabulary_size);
  content.model = BpeModel(content.tokens, byte_ids, std::move(merges), PreTokenRule{});
  return Tokenizer(std::move(content));
}

Tokenizer learn_bpe(std::span<const std::string> texts, int64_t vocabulary,
                    const OnProgress& on_progress) {
  BpeTrainer trainer({.vocabulary_size = vocabulary});
  for (const std::string& text : texts) trainer.add_text(text);
  return trainer.train(on_progress);
}

}  // namespace tessera
