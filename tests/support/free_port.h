#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstdint>
#include <stdexcept>

namespace tessera::test {

struct BoundSocket {
  int socket;
  uint16_t port;
};

/// A socket at a port of this machine that nothing listens at.
inline BoundSocket bound_socket() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket, place, size) != 0 || ::getsockname(socket, place, &size) != 0)
    throw std::runtime_error("no port is free");
  return {socket, ntohs(address.sin_port)};
}

/// Such a port. It stays this process's until that ends: the socket that is bound to it is not
/// closed, so nobody is given the port, and one that asks for it with SO_REUSEADDR, as servers do,
/// may listen there.
inline uint16_t free_port() {
  return bound_socket().port;
}

}  // namespace tessera::test
