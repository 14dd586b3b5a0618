#include "tessera/memo/window_code.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "tessera/memo/detail/bound_code.h"
#include "tessera/memo/detail/paper_code.h"
#include "tessera/memo/detail/window_hash.h"

namespace tessera::memo {

uint64_t hash_tokens(std::span<const int32_t> tokens) {
  return XXH3_64bits(tokens.data(), tokens.size_bytes());
}

size_t shard_of(uint64_t window, int32_t shards) {
  return (window >> 32) * static_cast<uint64_t>(shards) >> 32;
}

TokenPieces one_piece(std::span<const int32_t> tokens) {
  return [tokens]() mutable { return std::exchange(tokens, {}); };
}

bool WindowPairs::Seen::insert(uint64_t hash) {
  if (hash == 0) hash = 1;  // 0 marks a free slot
  if (4 * (count_ + 1) > 3 * slots_.size()) grow();
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot] != 0 && slots_[slot] != hash) slot = (slot + 1) & mask;
  if (slots_[slot] == hash) return false;
  slots_[slot] = hash;
  ++count_;
  return true;
}

void WindowPairs::Seen::grow() {
  std::vector<uint64_t> old(std::max<size_t>(1024, 2 * slots_.size()));
  old.swap(slots_);
  count_ = 0;
  for (const uint64_t hash : old)
    if (hash != 0) insert(hash);
}

WindowPairs::WindowPairs(std::vector<int64_t> lengths) : lengths_(std::move(lengths)) {}

std::span<const WindowPair> WindowPairs::append(std::span<const int32_t> piece) {
  const auto kept = std::min<int64_t>(std::ssize(text_), lengths_.back());
  text_.erase(text_.begin(), text_.end() - kept);
  text_.insert(text_.end(), piece.begin(), piece.end());
  pairs_.clear();
  for (int64_t next = kept; next < std::ssize(text_); ++next, ++read_)
    for (size_t k = 0; k < lengths_.size() && lengths_[k] <= read_; ++k) {
      const size_t tokens = lengths_[k] + 1;  // the window and its next
      const auto pair = std::span(text_).subspan(next + 1 - tokens, tokens);
      if (seen_.insert(hash_tokens(pair))) pairs_.push_back({static_cast<int32_t>(k), next});
    }
  return pairs_;
}

void WindowQueries::unbind(std::span<float> retrieved) const {
  if (masks.empty()) return;
  for (size_t c = 0; c < retrieved.size(); ++c)
    if ((masks[c / 64] >> (c % 64) & 1) != 0) retrieved[c] = -retrieved[c];
}

std::unique_ptr<const WindowCode> WindowCode::make(const TextMemoryConfig& config) {
  check_config(config);
  if (config.code == WindowCodeKind::kPaper) return std::make_unique<PaperCode>(config);
  return std::make_unique<BoundCode>(config);
}

}  // namespace tessera::memo
