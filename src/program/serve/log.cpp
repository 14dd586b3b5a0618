#include "program/serve/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
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

/// The lines that wait, and the thread that writes them.
class Log {
 public:
  Log() : thread_([lines = lines_] { write(*lines); }) {}
  ~Log() {
    {
      const std::lock_guard lock(lines_->mutex);
      lines_->ended = true;
    }
    lines_->changed.notify_all();
    if (finish())
      thread_.join();
    else
      thread_.detach();  // it hangs in a write
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void add(std::string line) {
    {
      const std::lock_guard lock(lines_->mutex);
      if (lines_->waiting.size() < kWaitingLines)
        lines_->waiting.push_back(std::move(line));
      else
        ++lines_->dropped;
    }
    lines_->changed.notify_all();
  }
  /// Returns whether all that waited is written.
  bool finish() {
    std::unique_lock lock(lines_->mutex);
    return lines_->changed.wait_for(lock, kForTheRest,
                                    [this] { return lines_->waiting.empty() && !lines_->writes; });
  }

 private:
  struct Lines {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::string> waiting;
    int64_t dropped = 0;
    bool ended = false, writes = false;
  };

  static void write(Lines& lines) {
    std::unique_lock lock(lines.mutex);
    for (;;) {
      lines.changed.wait(lock, [&] { return lines.ended || !lines.waiting.empty(); });
      if (lines.waiting.empty()) return;
      const auto waiting = std::exchange(lines.waiting, {});
      const int64_t dropped = std::exchange(lines.dropped, 0);
      lines.writes = true;
      lock.unlock();
      for (const std::string& line : waiting) write_all(escaped(line) + "\n");
      if (dropped > 0) write_all(fmt::format("{} lines of this log were dropped\n", dropped));
      lock.lock();
      lines.writes = false;
      lines.changed.notify_all();
    }
  }

  std::shared_ptr<Lines> lines_ = std::make_shared<Lines>();
  std::thread thread_;
};

Log& the_log() {
  static Log log;
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
