#pragma once

#include <chrono>
#include <new>
#include <string_view>

#include "program/serve/http.h"

namespace tessera::serve {

/// Events for a client that may leave; nothing more is sent to one that has left.
class SentEvents {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SentEvents(EventStream& stream) : stream_(stream) {}

  void send(std::string_view data) {
    connected_ = connected_ && stream_.send(data);
    sent_ = Clock::now();
  }
  /// Whether nothing was sent for this long.
  bool silent_for(Clock::duration time) const { return Clock::now() - sent_ >= time; }
  /// Whether the client has left. Only who sends something learns that: a comment is sent where
  /// nothing was for this long. SQLite asks this, too, in C.
  bool has_left(Clock::duration silence) noexcept {
    if (!connected_ || !silent_for(silence)) return !connected_;
    try {
      connected_ = stream_.send_comment();
    } catch (const std::bad_alloc&) {
      connected_ = false;
    }
    sent_ = Clock::now();
    return !connected_;
  }

 private:
  EventStream& stream_;
  Clock::time_point sent_ = Clock::now();
  bool connected_ = true;
};

}  // namespace tessera::serve
