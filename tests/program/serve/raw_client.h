#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::serve {

/// Seconds for what is not to end by itself while a test runs.
constexpr double kNever = 600;

/// One answer as it came.
struct Answer {
  int status = 0;  ///< 0: the connection ended before its head
  std::string head, body;
  bool whole = false;  ///< the body ended as the head says

  /// The header's value, or "".
  std::string header(std::string name) const {
    const auto lower = [](std::string text) {
      std::transform(text.begin(), text.end(), text.begin(),
                     [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
      return text;
    };
    const size_t found = lower(head).find("\r\n" + lower(name) + ":");
    if (found == std::string::npos) return "";
    const size_t start = head.find_first_not_of(" ", found + name.size() + 3);
    return head.substr(start, head.find("\r\n", start) - start);
  }
};

/// A client that does with its connection what it likes. Its limits are there to end a test that
/// hangs; no result depends on them.
class RawClient {
 public:
  /// receive_bytes: of the kernel's buffer; 0: the usual.
  explicit RawClient(int port, int receive_bytes = 0) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_bytes > 0)
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    const timeval limit = {60, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("the server cannot be reached");
  }
  RawClient(int port, std::string_view bytes) : RawClient(port) { send(bytes); }
  ~RawClient() { leave(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// Returns whether all of it went out.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(sent);
    }
    return true;
  }
  /// At most so many bytes of what comes; "" at the end of the connection. Throws
  /// std::runtime_error where neither comes.
  std::string receive(size_t most) {
    std::string bytes(most, '\0');
    const ssize_t received = ::recv(socket_, bytes.data(), most, 0);
    if (received < 0 && errno == EAGAIN) throw std::runtime_error("nothing came for a minute");
    bytes.resize(received > 0 ? received : 0);
    return bytes;
  }
  /// The next answer; one to HEAD has no body whatever its head says.
  Answer answer(bool to_head = false) {
    Answer answer;
    if (!take_until("\r\n\r\n", answer.head)) return answer;
    answer.status = std::atoi(answer.head.substr(std::min<size_t>(9, answer.head.size())).c_str());
    const std::string length = answer.header("Content-Length");
    if (to_head || answer.status / 100 == 1 || answer.status == 204)
      answer.whole = true;
    else if (answer.header("Transfer-Encoding") == "chunked")
      answer.whole = take_chunks(answer.body);
    else if (!length.empty())
      answer.whole = take(std::stoull(length), answer.body);
    else
      answer.whole = (answer.body = rest(), true);
    return answer;
  }
  /// All that comes until the server ends the connection.
  std::string rest() {
    while (more()) {
    }
    return std::exchange(received_, "");
  }
  /// What came until `text` was in it, or the connection ended.
  std::string until(const std::string& text) {
    std::string found;
    if (!take_until(text, found)) found = std::exchange(received_, "");
    return found;
  }

  int socket() const { return socket_; }
  /// Sends nothing more, but reads on.
  void half_close() { ::shutdown(socket_, SHUT_WR); }
  void leave() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  /// Leaves with RST.
  void reset() {
    const linger at_once = {1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    leave();
  }

 private:
  bool more() {
    const std::string bytes = receive(1 << 16);
    received_ += bytes;
    return !bytes.empty();
  }
  bool take(size_t size, std::string& to) {
    while (received_.size() < size && more()) {
    }
    to += received_.substr(0, size);
    const bool all = received_.size() >= size;
    received_.erase(0, size);
    return all;
  }
  bool take_until(const std::string& text, std::string& to) {
    size_t found = received_.find(text);
    while (found == std::string::npos && more()) found = received_.find(text);
    return found != std::string::npos && take(found + text.size(), to);
  }
  bool take_chunks(std::string& to) {
    for (;;) {
      std::string line, end;
      if (!take_until("\r\n", line)) return false;
      size_t size = 0;
      std::from_chars(line.data(), line.data() + line.size(), size, 16);
      if (!take(size, to) || !take(2, end)) return false;
      if (size == 0) return true;
    }
  }

  int socket_;
  std::string received_;
};

/// A request with a body of this length; `more`: further lines of its head.
inline std::string asking(const std::string& method, const std::string& path,
                          const std::string& body = "", const std::string& more = "") {
  return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" +
         "Content-Type: application/json\r\n" + more +
         (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" +
         body;
}

/// The bytes of a body in chunks of at most so many.
inline std::string in_chunks(const std::string& body, size_t most) {
  std::string chunks;
  for (size_t i = 0; i < body.size(); i += most) {
    const std::string piece = body.substr(i, most);
    chunks += fmt::format("{:x}\r\n", piece.size()) + piece + "\r\n";
  }
  return chunks + "0\r\n\r\n";
}

}  // namespace tessera::serve
