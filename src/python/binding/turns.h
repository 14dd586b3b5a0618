#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <new>

#include "python/binding/progress.h"
#include "tessera/base/error.h"

namespace tessera::python {

/// A number of this thread from 1 on. After a fork() no other thread has that of one of the
/// parent's, whereas std::thread::id is used again.
inline int64_t this_thread() {
  static std::atomic<int64_t> threads = 0;
  thread_local const int64_t number = ++threads;
  return number;
}

/// Whose turn it is to use what only one call at a time may use.
struct Turns {
  std::timed_mutex mutex;
  std::atomic<int64_t> owner = 0;           ///< this_thread() whose turn it is, if there is one
  std::atomic<pid_t> process = ::getpid();  ///< of the last owner
};

/// One turn, as long as it lives; to be made without the GIL. Waits for those of other threads.
/// Throws Interrupted where Ctrl-C comes meanwhile, and UsageError within a turn of the same
/// thread, which would wait for itself: where a progress function asks again.
class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) {
    check_argument(turns.owner != this_thread(),
                   "a progress function may not call what it is told the progress of");
    while (!turns.mutex.try_lock_for(std::chrono::milliseconds(100))) {
      if (heard_signal()) throw Interrupted("interrupted");
      pid_t last = turns.process;
      if (turns.owner != 0 && last != ::getpid() &&
          turns.process.compare_exchange_strong(last, ::getpid()))
        new (&turns.mutex) std::timed_mutex;  // a thread of the parent held it at the fork()
    }
    turns.process = ::getpid();
    turns.owner = this_thread();
  }
  ~Turn() {
    turns_.owner = 0;
    turns_.mutex.unlock();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns& turns_;
};

}  // namespace tessera::python
