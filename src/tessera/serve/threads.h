#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera::serve {

/// Threads for tasks, first in, first out; where all of them have one, further ones wait.
class Threads {
 public:
  using Task = std::function<void()>;

  explicit Threads(int64_t count);
  /// When all tasks are done.
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void add(Task task);

 private:
  void work();

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool stopped_ = false;
};

}  // namespace tessera::serve
