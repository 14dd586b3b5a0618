#include "tessera/data/detail/bpe_model.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr size_t kLongestKnownWord = 64;      // bytes; longer pre-tokens hardly repeat
constexpr size_t kMostKnownWords = 1u << 18;  // then the memory is started afresh

constexpr char32_t kFirstStandIn = 0x100;
constexpr char32_t kCharacters = kFirstStandIn + 68;

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> kToCharacter = [] {
  std::array<char32_t, 256> table{};
  char32_t next = kFirstStandIn;
  for (int byte = 0; byte < 256; ++byte)
    table[byte] = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
  return table;
}();

constexpr std::array<int, kCharacters> kToByte = [] {
  std::array<int, kCharacters> table{};
  for (int& byte : table) byte = -1;
  for (int byte = 0; byte < 256; ++byte) table[kToCharacter[byte]] = byte;
  return table;
}();

uint64_t pair_key(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

}  // namespace

char32_t byte_to_character(uint8_t byte) {
  return kToCharacter[byte];
}

std::string bytes_to_alphabet(std::string_view bytes) {
  std::string written;
  for (char byte : bytes) utf8::append(written, byte_to_character(static_cast<uint8_t>(byte)));
  return written;
}

std::optional<std::string> alphabet_to_bytes(std::string_view written) {
  std::string bytes;
  while (!written.empty()) {
    const char32_t character = utf8::take(written);
    if (character >= kCharacters || kToByte[character] < 0) return {};
    bytes += static_cast<char>(kToByte[character]);
  }
  return bytes;
}

BpeModel::BpeModel(const std::vector<std::string>& tokens, const std::array<int32_t, 256>& byte_ids,
                   std::vector<Merge> merges, PreTokenRule rule)
    : byte_ids_(byte_ids),
      merges_(std::move(merges)),
      rule_(rule),
      ranks_(std::bit_ceil(2 * merges_.size() + 2), Slot{0, -1}) {
  for (size_t rank = 0; rank < merges_.size(); ++rank) {
    const uint64_t pair = pair_key(merges_[rank].left, merges_[rank].right);
    ranks_[slot_of(pair)] = {pair, static_cast<int32_t>(rank)};
  }
  if (!rule_.ignore_merges) return;
  for (size_t id = 0; id < tokens.size(); ++id)
    if (!tokens[id].empty()) whole_tokens_.emplace(tokens[id], static_cast<int32_t>(id));
}

/// Of the pair, or the free one where it would be.
size_t BpeModel::slot_of(uint64_t pair) const {
  const uint64_t mixed = pair * 0x9E3779B97F4A7C15;
  size_t slot = (mixed ^ mixed >> 32) & (ranks_.size() - 1);
  while (ranks_[slot].rank >= 0 && ranks_[slot].pair != pair)
    slot = (slot + 1) & (ranks_.size() - 1);
  return slot;
}

void BpeModel::encode(std::string_view text, Workspace& workspace,
                      std::vector<int32_t>& ids) const {
  if (text.empty()) return;
  if (rule_.add_prefix_space && text.front() != ' ') {
    workspace.prefixed.assign(1, ' ').append(text);
    text = workspace.prefixed;
  }
  if (!rule_.split) return encode_word(text, workspace, ids);
  workspace.scanner.start(text, rule_.pattern ? *rule_.pattern : PreTokenPattern::gpt2());
  for (auto word = workspace.scanner.next(); !word.empty(); word = workspace.scanner.next())
    encode_word(word, workspace, ids);
}

void BpeModel::encode_word(std::string_view word, Workspace& workspace,
                           std::vector<int32_t>& ids) const {
  if (word.size() == 1) {
    ids.push_back(byte_ids_[static_cast<uint8_t>(word[0])]);
    return;
  }
  const bool keep = word.size() <= kLongestKnownWord;
  if (keep) {
    const auto found = workspace.known.find(word);
    if (found != workspace.known.end()) {
      const int32_t* first = workspace.known_ids.data() + found->second.begin;
      ids.insert(ids.end(), first, first + found->second.count);
      return;
    }
  }
  const size_t before = ids.size();
  const auto whole = whole_tokens_.find(word);
  if (whole != whole_tokens_.end()) {
    ids.push_back(whole->second);
  } else {
    merge_word(word, workspace, ids);
  }
  if (!keep) return;
  if (workspace.known.size() >= kMostKnownWords) {
    workspace.known.clear();
    workspace.known_ids.clear();
  }
  workspace.known.emplace(word, Workspace::Slice{workspace.known_ids.size(), ids.size() - before});
  workspace.known_ids.insert(workspace.known_ids.end(), ids.begin() + before, ids.end());
}

void BpeModel::propose(int32_t position, Workspace& workspace) const {
  const auto& left = workspace.symbols[position];
  if (left.next < 0) return;
  const auto& right = workspace.symbols[left.next];
  const int32_t rank = ranks_[slot_of(pair_key(left.id, right.id))].rank;
  if (rank < 0) return;
  workspace.heap.push_back({rank, position, left.id, right.id});
}

void BpeModel::merge_word(std::string_view word, Workspace& workspace,
                          std::vector<int32_t>& ids) const {
  check_argument(word.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()),
                 "BpeModel: a pre-token of {} bytes, expected less than 2 GiB", word.size());
  const auto last = static_cast<int32_t>(word.size()) - 1;
  auto& symbols = workspace.symbols;
  auto& heap = workspace.heap;
  symbols.clear();
  heap.clear();
  const auto listen = [](int64_t step) {  // to Ctrl-C in a word that takes seconds
    if (step % (1 << 20) == (1 << 20) - 1) InterruptGuard::stop_if_interrupted("interrupted");
  };
  for (int32_t i = 0; i <= last; ++i) {
    symbols.push_back({byte_ids_[static_cast<uint8_t>(word[i])], i - 1, i < last ? i + 1 : -1});
    listen(i);
  }
  for (int32_t i = 0; i < last; ++i) {
    propose(i, workspace);
    listen(i);
  }

  const auto later = [](const Workspace::Candidate& a, const Workspace::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  };
  std::make_heap(heap.begin(), heap.end(), later);
  const auto propose_sorted = [&](int32_t position) {
    const size_t before = heap.size();
    propose(position, workspace);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), later);
  };
  for (int64_t step = 0; !heap.empty(); ++step) {
    listen(step);
    std::pop_heap(heap.begin(), heap.end(), later);
    const auto best = heap.back();
    heap.pop_back();
    auto& left = symbols[best.position];
    // Outdated where a merge has since changed or swallowed one of the two.
    if (left.id != best.left || left.next < 0 || symbols[left.next].id != best.right) continue;
    auto& right = symbols[left.next];
    left.id = merges_[best.rank].result;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbols[left.next].previous = best.position;
    if (left.previous >= 0) propose_sorted(left.previous);
    propose_sorted(best.position);
  }
  for (int32_t i = 0; i >= 0; i = symbols[i].next) ids.push_back(symbols[i].id);
}

}  // namespace tessera
