#include "tessera/serve/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace tessera::serve {
namespace {

bool would_wait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Connection::Connection(int socket, std::unique_ptr<TlsSession> tls, size_t body_bytes,
                       std::atomic<int64_t>& count)
    : socket_(socket),
      tls_(std::move(tls)),
      buffer_(body_bytes),
      most_bytes_(kMostHeadBytes + body_bytes),
      count_(count) {
  ++count_;
}

Connection::~Connection() {
  tls_.reset();
  ::close(socket_);
  --count_;
}

ssize_t Connection::receive(char* to, size_t size) {
  return tls_ ? tls_->receive(to, size) : ::recv(socket_, to, size, 0);
}

ssize_t Connection::send(const char* from, size_t size) {
  return tls_ ? tls_->send(from, size) : ::send(socket_, from, size, MSG_NOSIGNAL);
}

bool Connection::wait(short events, Clock::time_point deadline) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd poll = {socket_, events, 0};
    const int found = ::poll(&poll, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (found > 0) return true;
    if (found == 0 || errno != EINTR) return false;
  }
}

bool Connection::hung_up() const {
  pollfd poll = {socket_, POLLRDHUP, 0};
  return ::poll(&poll, 1, 0) > 0;
}

bool Connection::take_in() {
  std::array<char, 16384> bytes;
  while (buffer_.size() <= most_bytes_) {
    const ssize_t count = receive(bytes.data(), bytes.size());
    if (count < 0) return would_wait();
    if (count == 0) return false;
    if (!has_ended_) buffer_.append({bytes.data(), static_cast<size_t>(count)});
  }
  return true;
}

ssize_t Connection::read(char* to, size_t size, Clock::time_point deadline) {
  for (;;) {
    if (const size_t count = buffer_.read(to, size); count > 0) return static_cast<ssize_t>(count);
    if (!buffer_.reads_on() || buffer_.left() == 0 || !take_in()) return -1;
    if (buffer_.size() == 0 && !wait(POLLIN, deadline)) return -1;
  }
}

ssize_t Connection::write(std::string_view bytes, Clock::time_point deadline) {
  for (;;) {
    const ssize_t count = send(bytes.data(), bytes.size());
    if (count > 0) return count;
    if (count == 0 || !would_wait()) return -1;
    if (!wait(tls_ ? tls_->wants() : POLLOUT, deadline)) return -1;
  }
}

void Connection::end() {
  has_ended_ = true;
  if (tls_) tls_->end();
  ::shutdown(socket_, SHUT_WR);
}

}  // namespace tessera::serve
