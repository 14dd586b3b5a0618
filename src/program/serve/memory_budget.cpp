#include "program/serve/memory_budget.h"

#include <algorithm>

namespace tessera::serve {

MemoryBudget::Share MemoryBudget::take(double bytes, const std::shared_ptr<Bell>& bell) {
  const std::lock_guard lock(mutex_);
  const auto place = std::find(line_.begin(), line_.end(), bell);
  const bool is_next = line_.empty() || place == line_.begin();
  if (!is_next || (shares_ > 0 && used_ + bytes > bytes_)) {
    if (place == line_.end()) line_.push_back(bell);
    return nullptr;
  }
  if (place != line_.end()) line_.erase(place);
  make_room(bytes);
  used_ += bytes;
  ++shares_;
  ring_first();  // there may be room for that one too
  return Share(this, {bytes});
}

void MemoryBudget::leave(const std::shared_ptr<Bell>& bell) {
  const std::lock_guard lock(mutex_);
  if (std::erase(line_, bell) > 0) ring_first();
}

void MemoryBudget::keep(const void* owner, const TokenIds& tokens, std::any state, double bytes) {
  const std::lock_guard lock(mutex_);
  if (used_ + bytes > bytes_ || !line_.empty()) return;
  for (const Prefix& prefix : prefixes_)
    if (prefix.owner == owner && prefix.tokens == tokens) return;
  make_room(bytes);
  prefixes_.push_front({owner, tokens, std::move(state), bytes});
  kept_ += bytes;
}

std::optional<std::pair<std::any, size_t>> MemoryBudget::longest_prefix(const void* owner,
                                                                        const TokenIds& tokens) {
  const std::lock_guard lock(mutex_);
  auto best = prefixes_.end();
  for (auto prefix = prefixes_.begin(); prefix != prefixes_.end(); ++prefix)
    if (prefix->owner == owner && prefix->tokens.size() <= tokens.size() &&
        (best == prefixes_.end() || prefix->tokens.size() > best->tokens.size()) &&
        std::equal(prefix->tokens.begin(), prefix->tokens.end(), tokens.begin()))
      best = prefix;
  if (best == prefixes_.end()) return std::nullopt;
  prefixes_.splice(prefixes_.begin(), prefixes_, best);
  return std::pair(best->state, best->tokens.size());
}

void MemoryBudget::drop(const void* owner) {
  const std::lock_guard lock(mutex_);
  std::erase_if(prefixes_, [&](const Prefix& prefix) {
    if (prefix.owner == owner) kept_ -= prefix.bytes;
    return prefix.owner == owner;
  });
}

double MemoryBudget::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

void MemoryBudget::give_back(double bytes) {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
  --shares_;
  ring_first();
}

/// Drops kept prompts until so much more fits, or none is left.
void MemoryBudget::make_room(double bytes) {
  while (!prefixes_.empty() && used_ + kept_ + bytes > bytes_) {
    kept_ -= prefixes_.back().bytes;
    prefixes_.pop_back();
  }
}

void MemoryBudget::ring_first() const {
  if (!line_.empty()) line_.front()->ring();
}

}  // namespace tessera::serve
