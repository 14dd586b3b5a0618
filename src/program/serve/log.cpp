#include "program/serve/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace tessera::serve {
namespace {

constexpr size_t kWaitingLines = 10000;
constexpr auto kForTheRest = std::chrono::seconds(1);  // to be written, at the end

std::string escaped(std::string_view text) {
  std::string result;
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x20 || code >= 0x7f)
      result += fmt::format("\\x{:02x}", code);
    else
      result += byte;
  }
  return result;
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR) return;  // there is no better place to say so
    text.remove_prefix(count < 0 ? 0 : count);
  }
}

/// The lines that wait, and the thread that writes them, as long as the process lives.
class Log {
 public:
  Log() {
    std::thread([this] { write(); }).detach();
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void add(std::string line) {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() < kWaitingLines)
        waiting_.push_back(std::move(line));
      else
        ++dropped_;
    }
    changed_.notify_all();
  }
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kForTheRest, [this] { return waiting_.empty() && !writes_; });
  }

 private:
  [[noreturn]] void write() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !waiting_.empty(); });
      const auto waiting = std::exchange(waiting_, {});
      const int64_t dropped = std::exchange(dropped_, 0);
      writes_ = true;
      lock.unlock();
      for (const std::string& line : waiting) write_all(escaped(line) + "\n");
      if (dropped > 0) write_all(fmt::format("{} lines of this log were dropped\n", dropped));
      lock.lock();
      writes_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  int64_t dropped_ = 0;
  bool writes_ = false;
};

Log& the_log() {
  static Log& log = *new Log;
  return log;
}

}  // namespace

void log_line(const std::string& line) {
  the_log().add(line);
}

void finish_log() {
  the_log().finish();
}

}  // namespace tessera::serve
