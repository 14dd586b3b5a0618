#pragma once

#include <chrono>
#include <functional>
#include <mutex>

namespace tessera::serve {

/// Whether the answer that is worked on is not wanted any more: asked now and then, maybe often.
using Unwanted = std::function<bool()>;

/// Between two looks at whether an answer is still wanted, of who waits for its turn.
constexpr auto kLookForClient = std::chrono::milliseconds(20);

/// Waits for the lock; returns false, without it, where the answer is unwanted before.
inline bool wait_for_turn(std::unique_lock<std::timed_mutex>& turn, const Unwanted& unwanted) {
  while (!turn.try_lock_for(kLookForClient))
    if (unwanted && unwanted()) return false;
  return true;
}

}  // namespace tessera::serve
