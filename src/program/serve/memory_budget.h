#pragma once

#include <any>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tessera::serve {

using TokenIds = std::vector<int64_t>;

/// Wakes one thread. What rings while nobody waits is heard by the next wait().
class Bell {
 public:
  void ring() {
    rung_ = 1;
    rung_.notify_one();
  }
  void wait() {
    rung_.wait(0);
    rung_.exchange(0);  // not a store: what was done before a ring in between is seen, too
  }

 private:
  std::atomic<int> rung_ = 0;
};

/// The memory that the texts of all engines share. What cannot be had is waited for in one line, so
/// that a large text is not passed by small ones for ever. What was read of prompts is kept where
/// nothing else needs the memory; the least recently used, of any model, leaves first. From any
/// thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(double bytes) : bytes_(bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  double bytes() const { return bytes_; }

  struct GiveBack {
    double bytes;
    void operator()(MemoryBudget* budget) const { budget->give_back(bytes); }
  };
  /// Memory that is taken; it is given back with the pointer.
  using Share = std::unique_ptr<MemoryBudget, GiveBack>;
  /// Takes memory for a text: what is free, and of kept prompts as much as it needs; a text for
  /// which all would not do gets it while there is no other one. Null where it must wait: `bell` is
  /// then in the line, if it is not yet, and is rung when it is worth another try.
  Share take(double bytes, const std::shared_ptr<Bell>& bell);
  /// Leaves the line.
  void leave(const std::shared_ptr<Bell>& bell);

  /// Keeps what `owner` read of these tokens, in the place of prompts that were used less recently;
  /// not where texts leave no room, or wait for it.
  void keep(const void* owner, const TokenIds& tokens, std::any state, double bytes);
  /// A copy of what `owner` has kept of the longest prompt that `tokens` begin with, with its
  /// number of tokens.
  std::optional<std::pair<std::any, size_t>> longest_prefix(const void* owner,
                                                            const TokenIds& tokens);
  /// Drops what `owner` has kept.
  void drop(const void* owner);

  double kept_bytes() const;

 private:
  struct Prefix {
    const void* owner;
    TokenIds tokens;
    std::any state;
    double bytes;
  };

  void give_back(double bytes);
  void make_room(double bytes);
  void ring_first() const;

  const double bytes_;
  mutable std::mutex mutex_;  // guards what follows
  double used_ = 0;           // by texts
  int64_t shares_ = 0;
  double kept_ = 0;
  std::list<Prefix> prefixes_;             // latest first
  std::list<std::shared_ptr<Bell>> line_;  // of who waits
};

}  // namespace tessera::serve
