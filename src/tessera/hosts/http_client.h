#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tessera::hosts {

/// What is at the other end of an address does not answer, or not as it should.
class HostError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// "http://HOST[:PORT]/PATH".
struct Address {
  std::string host;  ///< a name or an address, IPv6 without brackets
  std::string port = "80";
  std::string path;       ///< without a last '/'
  std::string authority;  ///< as a Host header has it
};

/// Throws UsageError on anything else.
Address parse_address(const std::string& text);

/// A request to a host.
struct HostRequest {
  std::string method = "GET", path = {};
  std::string content_type = {}, body = {};
  size_t most_bytes = 0;  ///< of the answer's body
};

/// An answer of a host.
struct HostAnswer {
  int status = 0;
  std::string body;
};

/// Speaks HTTP/1.1 to one host, whose answers are not trusted: each must come whole within a time
/// limit, whatever the host sends meanwhile, and within limits of size. The connection is kept for
/// the next request. For one thread.
class HttpClient {
 public:
  /// seconds: most that one request may take. key: sent as "Authorization: Bearer KEY"; "" for
  /// none.
  HttpClient(Address address, double seconds, std::string key);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Throws HostError.
  HostAnswer ask(const HostRequest& request);

 private:
  using Clock = std::chrono::steady_clock;

  void connect();
  void close();
  /// Waits until the socket can be read (POLLIN) or written (POLLOUT).
  void wait(int events);
  void send(std::string_view bytes);
  /// Appends what has come; returns false at the end of the connection.
  bool receive(size_t most);
  HostAnswer read_answer(size_t most_bytes);
  std::string head_of(const HostRequest& request) const;

  Address address_;
  std::chrono::duration<double> limit_;
  std::string key_;
  int socket_ = -1;
  Clock::time_point deadline_;
  std::string received_;  // of the answer that is read
};

}  // namespace tessera::hosts
