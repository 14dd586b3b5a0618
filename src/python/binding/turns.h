#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "python/binding/progress.h"
#include "tessera/base/error.h"

namespace tessera::python {

/// Whose turn it is to use what only one call at a time may use.
struct Turns {
  std::timed_mutex mutex;
  std::atomic<std::thread::id> owner;  ///< the thread whose turn it is, if there is one
};

/// One turn, as long as it lives; to be made without the GIL. Waits for those of other threads.
/// Throws Interrupted where Ctrl-C comes meanwhile, and UsageError within a turn of the same
/// thread, which would wait for itself: where a progress function asks again.
class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) {
    check_argument(turns.owner != std::this_thread::get_id(),
                   "a progress function may not call what it is told the progress of");
    while (!turns.mutex.try_lock_for(std::chrono::milliseconds(100)))
      if (heard_signal()) throw Interrupted("interrupted");
    turns.owner = std::this_thread::get_id();
  }
  ~Turn() {
    turns_.owner = std::thread::id();
    turns_.mutex.unlock();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns& turns_;
};

}  // namespace tessera::python
