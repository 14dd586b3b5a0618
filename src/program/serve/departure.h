#pragma once

#include <poll.h>

#include <chrono>
#include <optional>

namespace tessera::serve {

/// Whether anybody waits for the answer that is being worked on. A client that has closed its
/// sending side may have gone, or may wait for the answer, which cannot be told apart before
/// something is sent: for some time it is believed to wait.
class Departure {
 public:
  using Clock = std::chrono::steady_clock;

  Departure(int socket, Clock::duration patience) : socket_(socket), patience_(patience) {}

  bool operator()() {
    pollfd poll = {socket_, POLLRDHUP, 0};
    if (::poll(&poll, 1, 0) <= 0) return false;
    if (poll.revents & (POLLERR | POLLHUP | POLLNVAL)) return true;
    if (!closed_) closed_ = Clock::now();
    return Clock::now() - *closed_ > patience_;
  }

 private:
  int socket_;
  Clock::duration patience_;
  std::optional<Clock::time_point> closed_;
};

}  // namespace tessera::serve
