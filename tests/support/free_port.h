#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstdint>

namespace tessera::test {

/// A port of this machine that nothing listens at. It stays this process's until that ends: the
/// socket that is bound to it is not closed, so nobody is given the port, and one that asks for it
/// with SO_REUSEADDR, as servers do, may listen there.
inline uint16_t free_port() {
  const int holder = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int reuse = 1;
  ::setsockopt(holder, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(holder, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(holder, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

}  // namespace tessera::test
