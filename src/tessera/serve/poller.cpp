#include "tessera/serve/poller.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "tessera/base/error.h"

namespace tessera::serve {
namespace {

constexpr int64_t kOtherFiles = 128;              // of this process: stores, models, the log
constexpr int kAccepted = 256;                    // before other connections are looked at
constexpr auto kLeave = std::chrono::seconds(1);  // for a client to close what has ended
constexpr size_t kHeldRequests = 16;  // of the largest size, that may be arriving at once

/// How many sockets this process may have, once it has asked for as many as it may.
int64_t most_sockets() {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1 << 20);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::max<int64_t>(static_cast<int64_t>(limit.rlim_cur) - kOtherFiles, 16);
}

}  // namespace

Poller::Poller(int listener, const PollerOptions& options, const Tls* tls, OnRequest on_request)
    : listener_(listener),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      options_(options),
      tls_(tls),
      on_request_(std::move(on_request)),
      most_connections_(most_sockets()) {
  if (poll_ < 0 || wake_ < 0) throw SystemError("epoll", "create", errno);
  watch(wake_, EPOLL_CTL_ADD);
}

Poller::~Poller() {
  ::close(wake_);
  ::close(poll_);
}

void Poller::watch(int socket, int operation) const {
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = socket;
  ::epoll_ctl(poll_, operation, socket, &event);
}

void Poller::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

void Poller::stop() {
  stopped_ = true;
  wake();
}

void Poller::give_back(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    returned_.push_back(std::move(connection));
  }
  wake();
}

void Poller::run() {
  watch(listener_, EPOLL_CTL_ADD);
  std::array<epoll_event, 256> events;
  while (!stopped_) {
    const int count =
        ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), milliseconds_to_wait());
    for (int i = 0; i < count; ++i) {
      const int socket = events[static_cast<size_t>(i)].data.fd;
      if (socket == listener_)
        accept_all();
      else if (socket == wake_)
        take_returned();
      else if (const auto place = places_.find(socket); place != places_.end())
        look(place->second);
    }
    close_late();
  }
  places_.clear();
  for (auto* list : {&idle_, &arriving_, &leaving_}) list->clear();
}

void Poller::accept_all() {
  for (int i = 0; i < kAccepted; ++i) {
    if (count_ >= most_connections_ && !make_room()) return;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      const bool is_full = errno == EMFILE || errno == ENFILE;
      if (is_full && make_room()) continue;
      return;
    }
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    add(std::make_unique<Connection>(socket, tls_ ? tls_->session(socket) : nullptr,
                                     options_.body_bytes, count_));
  }
}

/// Closes the connection that has been idle longest, or else the slowest one.
bool Poller::make_room() {
  for (auto* list : {&leaving_, &idle_, &arriving_})
    if (!list->empty()) {
      remove(list->begin());
      return true;
    }
  std::this_thread::sleep_for(std::chrono::milliseconds(1));  // all are being answered
  return false;
}

void Poller::take_returned() {
  uint64_t ignored;
  [[maybe_unused]] const auto count = ::read(wake_, &ignored, sizeof ignored);
  std::vector<std::unique_ptr<Connection>> returned;
  {
    const std::lock_guard lock(mutex_);
    returned.swap(returned_);
  }
  for (auto& connection : returned) add(std::move(connection));
}

void Poller::add(std::unique_ptr<Connection> connection) {
  const int socket = connection->socket();
  held_bytes_ += connection->buffer().size();
  auto& list = connection->has_ended() ? leaving_ : idle_;
  const Place place = list.insert(list.end(), {std::move(connection), Clock::now(), &list});
  places_[socket] = place;
  watch(socket, EPOLL_CTL_ADD);
  look(place);  // something may have come meanwhile
}

/// Takes in what has arrived on a connection, and hands it over where that is a request.
void Poller::look(Place place) {
  Connection& connection = *place->connection;
  const size_t before = connection.buffer().size();
  const bool open = connection.take_in();
  held_bytes_ += connection.buffer().size() - before;
  using Arrived = RequestBuffer::Arrived;
  const Arrived arrived = connection.buffer().arrived();
  if (arrived == Arrived::kRequest) {
    on_request_(remove(place));
  } else if (!open) {
    remove(place);
  } else if (arrived == Arrived::kPart && place->list == &idle_) {
    place->list = &arriving_;
    place->since = Clock::now();
    arriving_.splice(arriving_.end(), idle_, place);
  }
  while (held_bytes_ > kHeldRequests * (kMostHeadBytes + options_.body_bytes) && !arriving_.empty())
    remove(arriving_.begin());
}

/// The connection does not wait any more.
std::unique_ptr<Connection> Poller::remove(Place place) {
  auto connection = std::move(place->connection);
  held_bytes_ -= connection->buffer().size();
  watch(connection->socket(), EPOLL_CTL_DEL);
  places_.erase(connection->socket());
  place->list->erase(place);
  return connection;
}

void Poller::close_late() {
  const auto now = Clock::now();
  while (!leaving_.empty() && now - leaving_.front().since > kLeave) remove(leaving_.begin());
  while (!idle_.empty() && now - idle_.front().since > options_.idle) remove(idle_.begin());
  while (!arriving_.empty() && now - arriving_.front().since > options_.read)
    remove(arriving_.begin())->write_now(options_.late_answer);
}

/// Until the next one is late.
int Poller::milliseconds_to_wait() const {
  std::chrono::nanoseconds wait = std::chrono::seconds(1);
  const auto now = Clock::now();
  if (!leaving_.empty()) wait = std::min(wait, leaving_.front().since + kLeave - now);
  if (!idle_.empty()) wait = std::min(wait, idle_.front().since + options_.idle - now);
  if (!arriving_.empty()) wait = std::min(wait, arriving_.front().since + options_.read - now);
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  return static_cast<int>(std::max<int64_t>(0, milliseconds));
}

}  // namespace tessera::serve
