#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

namespace tessera::serve {

/// What was read of the latest prompts, by their tokens: the least recently used leave first, where
/// all together would take more than `most_bytes`.
template <typename State>
class PrefixCache {
 public:
  explicit PrefixCache(double most_bytes) : most_bytes_(most_bytes) {}

  /// The state of the longest entry that `tokens` begin with, with the number of its tokens.
  std::optional<std::pair<State, size_t>> longest_prefix(const std::vector<int64_t>& tokens) {
    auto best = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (entry->tokens.size() <= tokens.size() &&
          (best == entries_.end() || entry->tokens.size() > best->tokens.size()) &&
          std::equal(entry->tokens.begin(), entry->tokens.end(), tokens.begin()))
        best = entry;
    if (best == entries_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, best);
    return std::pair(best->state, best->tokens.size());
  }

  /// Keeps a copy of what was read of these tokens, if there is room for it at all.
  void keep(const std::vector<int64_t>& tokens, const State& state, double bytes) {
    if (bytes > most_bytes_) return;
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
      if (entry->tokens == tokens) return;
    while (bytes_ + bytes > most_bytes_) {
      bytes_ -= entries_.back().bytes;
      entries_.pop_back();
    }
    entries_.push_front({tokens, state, bytes});
    bytes_ += bytes;
  }

  double bytes() const { return bytes_; }
  size_t entries() const { return entries_.size(); }

 private:
  struct Entry {
    std::vector<int64_t> tokens;
    State state;
    double bytes;
  };

  double most_bytes_, bytes_ = 0;
  std::list<Entry> entries_;  // latest first
};

}  // namespace tessera::serve
