#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "tessera/serve/request_buffer.h"
#include "tessera/serve/tls.h"

namespace tessera::serve {

/// A client's connection, on a socket that does not block. Closed with the object. For one thread
/// at a time.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  /// count: of the connections there are. tls: none where nothing is encrypted.
  Connection(int socket, std::unique_ptr<TlsSession> tls, size_t body_bytes,
             std::atomic<int64_t>& count);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  RequestBuffer& buffer() { return buffer_; }

  /// Takes in what has arrived, without waiting; returns false where the client has closed. Once
  /// it has ended what arrives is dropped.
  bool take_in();
  /// Bytes of the request that is being answered; those that are not here yet (reads_on()) are
  /// waited for until the deadline. Returns how many, or -1.
  ssize_t read(char* to, size_t size, Clock::time_point deadline);
  /// Sends some bytes, one or more, as soon as the client takes them in. Returns how many, or -1
  /// where it does not until the deadline, or has closed.
  ssize_t write(std::string_view bytes, Clock::time_point deadline);
  /// Sends what can be sent now.
  void write_now(std::string_view bytes) { send(bytes.data(), bytes.size()); }
  /// Tells the client that no more answers come. To close at once could take the last one away from
  /// a client that still sends.
  void end();
  bool has_ended() const { return has_ended_; }
  /// Whether the client has closed its side.
  bool hung_up() const;

 private:
  ssize_t receive(char* to, size_t size);
  ssize_t send(const char* from, size_t size);
  bool wait(short events, Clock::time_point deadline) const;

  int socket_;
  std::unique_ptr<TlsSession> tls_;
  RequestBuffer buffer_;
  size_t most_bytes_;
  bool has_ended_ = false;
  std::atomic<int64_t>& count_;
};

}  // namespace tessera::serve
