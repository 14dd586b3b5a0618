#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace tessera::serve {

/// A connection of a client that writes bytes as it likes.
class Client {
 public:
  /// Throws std::runtime_error where nobody listens there.
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("the server cannot be reached");
  }
  ~Client() { hang_up(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  int socket() const { return socket_; }
  void hang_up() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  void send(const std::string& bytes) { ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  /// What comes until `end` is in it, or the connection ends, or nothing comes for some seconds.
  std::string receive(const std::string& end = "\r\n0\r\n\r\n", int limit_seconds = 10) {
    const timeval limit = {limit_seconds, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::string received;
    char buffer[4096];
    while (received.find(end) == std::string::npos) {
      const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
      if (count <= 0) break;
      received.append(buffer, static_cast<size_t>(count));
    }
    return received;
  }

 private:
  int socket_;
};

inline std::string request(const std::string& method, const std::string& path,
                           const std::string& body = "",
                           const std::string& more = "Host: localhost\r\n") {
  return method + " " + path + " HTTP/1.1\r\n" + more + "Content-Type: application/json\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace tessera::serve
