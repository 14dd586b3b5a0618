#pragma once

#include <fmt/format.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "program/serve/http.h"

namespace tessera::serve {

/// Events on their way from the thread that makes them to the one that writes them.
class Outbox : public EventStream {
 public:
  /// on_news: called where there is something to take, from the thread that makes events.
  explicit Outbox(std::function<void()> on_news) : on_news_(std::move(on_news)) {}

  bool send(std::string_view data) override { return put(fmt::format("data: {}\n\n", data)); }
  bool send_comment() override { return put(":\n\n"); }

  /// All that has come, or "".
  std::string take() {
    const std::lock_guard lock(mutex_);
    taken_.notify_one();
    return std::exchange(waiting_, {});
  }
  /// The client takes no more.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    taken_.notify_one();
  }

 private:
  /// Waits where the client is slow.
  bool put(const std::string& text) {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return closed_ || waiting_.size() < kWaitingBytes; });
    if (closed_) return false;
    const bool is_news = waiting_.empty();
    waiting_ += text;
    lock.unlock();
    if (is_news) on_news_();
    return true;
  }

  static constexpr size_t kWaitingBytes = 1 << 16;

  std::function<void()> on_news_;
  std::mutex mutex_;
  std::condition_variable taken_;
  std::string waiting_;
  bool closed_ = false;
};

}  // namespace tessera::serve
