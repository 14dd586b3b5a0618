#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/serve/connection.h"

namespace tessera::serve {

struct PollerOptions {
  size_t body_bytes = 0;               ///< most of a request
  std::chrono::nanoseconds idle = {};  ///< for the first byte of a request
  std::chrono::nanoseconds read = {};  ///< from its first byte to its last
  std::string late_answer;             ///< sent where that is over
};

/// Accepts connections and waits for whole requests on all of them with one thread (epoll), so that
/// neither idle clients nor slow ones hold up others: they cost a socket and what they have sent.
/// Where there are more of them than this process may have sockets, or where they hold more than
/// sixteen requests of the largest size, the one that has waited longest is closed.
class Poller {
 public:
  using OnRequest = std::function<void(std::unique_ptr<Connection>)>;

  /// listener: a socket that listens; tls: none for connections that are not encrypted, must
  /// outlive it. Throws SystemError.
  Poller(int listener, const PollerOptions& options, const Tls* tls, OnRequest on_request);
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// Hands every connection on which a whole request has arrived to on_request, until stop();
  /// closes those that wait then.
  void run();
  /// From any thread, also before run().
  void stop();
  /// The requests of this connection are answered; it waits for the next one, or, where it has
  /// ended, for the client to close. From any thread.
  void give_back(std::unique_ptr<Connection> connection);
  /// Connections that are open now.
  int64_t connections() const { return count_; }

 private:
  using Clock = Connection::Clock;
  struct Waiting {
    std::unique_ptr<Connection> connection;
    Clock::time_point since;
    std::list<Waiting>* list;  // that holds it
  };
  using Place = std::list<Waiting>::iterator;

  void watch(int socket, int operation) const;
  void wake() const;
  void accept_all();
  bool make_room();
  void take_returned();
  void add(std::unique_ptr<Connection> connection);
  void look(Place place);
  std::unique_ptr<Connection> remove(Place place);
  void close_late();
  int milliseconds_to_wait() const;

  int listener_, poll_ = -1, wake_ = -1;
  PollerOptions options_;
  const Tls* tls_;
  OnRequest on_request_;
  int64_t most_connections_;
  std::atomic<int64_t> count_ = 0;
  std::atomic<bool> stopped_ = false;
  std::list<Waiting> idle_, arriving_, leaving_;  // each: the longest first
  std::unordered_map<int, Place> places_;         // by socket
  size_t held_bytes_ = 0;                         // that have arrived on these
  std::mutex mutex_;                              // of what follows
  std::vector<std::unique_ptr<Connection>> returned_;
};

}  // namespace tessera::serve
