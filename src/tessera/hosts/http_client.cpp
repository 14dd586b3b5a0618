#include "tessera/hosts/http_client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "tessera/base/error.h"

namespace tessera::hosts {
namespace {

constexpr size_t kMostHeadBytes = 1 << 16;
constexpr size_t kBytesAtOnce = 1 << 16;

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw HostError(fmt::format(format, std::forward<Args>(args)...));
}

struct FreeAddresses {
  void operator()(addrinfo* found) const { ::freeaddrinfo(found); }
};
using Found = std::unique_ptr<addrinfo, FreeAddresses>;

Found look_up(const Address& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (failure != 0) fail("cannot find '{}': {}", address.host, ::gai_strerror(failure));
  return Found(found);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : static_cast<char>(c);
  });
  return result;
}

/// What an answer's head says of its body.
struct Head {
  int status = 0;
  std::optional<size_t> body_bytes;
  bool ends_connection = false;
};

size_t length_of(std::string_view text) {
  size_t length = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (failure != std::errc() || end != text.data() + text.size())
    fail("its answer has a Content-Length that is not a number");
  return length;
}

void read_header(Head& head, std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) fail("its answer has a header without ':'");
  const std::string name = lower(line.substr(0, colon));
  std::string_view value = line.substr(colon + 1);
  while (value.starts_with(' ')) value.remove_prefix(1);
  while (value.ends_with(' ')) value.remove_suffix(1);
  if (name == "content-length") {
    const size_t length = length_of(value);
    if (head.body_bytes && *head.body_bytes != length) fail("its answer has two Content-Lengths");
    head.body_bytes = length;
  }
  if (name == "transfer-encoding") fail("its answer is sent in chunks, expected a Content-Length");
  if (name == "connection" && lower(value) == "close") head.ends_connection = true;
}

Head parse_head(std::string_view text) {
  Head head;
  const size_t end = text.find("\r\n");
  const std::string_view first = text.substr(0, end);
  if (!first.starts_with("HTTP/1.") || first.size() < 12 || first[8] != ' ')
    fail("its answer is not HTTP");
  const auto [rest, failure] = std::from_chars(&first[9], &first[9] + 3, head.status);
  if (failure != std::errc() || rest != &first[9] + 3 || head.status < 200)
    fail("its answer has no status");
  for (text.remove_prefix(end + 2); !text.empty();) {
    const size_t line = text.find("\r\n");
    read_header(head, text.substr(0, line));
    text.remove_prefix(line + 2);
  }
  return head;
}

}  // namespace

Address parse_address(const std::string& text) {
  constexpr std::string_view kScheme = "http://";
  const auto refuse = [&](const char* why) {
    throw UsageError("'{}' {}; expected http://HOST:PORT/v1/stores/NAME", text, why);
  };
  if (!text.starts_with(kScheme)) refuse("is not an address of a store");
  if (std::ranges::any_of(text, [](unsigned char c) { return c <= ' ' || c >= 0x7f; }))
    refuse("has a character that an address cannot have");
  const size_t begin = kScheme.size(), slash = text.find('/', begin);
  if (slash == std::string::npos) refuse("names no store");
  Address address;
  address.authority = text.substr(begin, slash - begin);
  address.path = text.substr(slash);
  while (address.path.ends_with('/')) address.path.pop_back();
  if (address.path.empty()) refuse("names no store");
  const std::string& authority = address.authority;
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string::npos) refuse("has '[' without ']'");
  const size_t colon = authority.find(':', bracket);
  address.host = authority.substr(0, colon);
  if (bracket > 0) address.host = authority.substr(1, bracket - 1);
  if (colon != std::string::npos) address.port = authority.substr(colon + 1);
  const bool is_number =
      !address.port.empty() && address.port.size() <= 5 &&
      std::ranges::all_of(address.port, [](char c) { return c >= '0' && c <= '9'; });
  if (address.host.empty() || !is_number) refuse("has no host, or a port that is not a number");
  return address;
}

HttpClient::HttpClient(Address address, double seconds, std::string key)
    : address_(std::move(address)), limit_(seconds), key_(std::move(key)) {}

HttpClient::~HttpClient() {
  close();
}

void HttpClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  received_.clear();
}

void HttpClient::wait(int events) {
  pollfd polled = {socket_, static_cast<short>(events), 0};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    const int ready = left <= 0 ? 0 : ::poll(&polled, 1, static_cast<int>(left) + 1);
    if (ready > 0) return;
    if (ready == 0) fail("did not answer within {:g} s", limit_.count());
    if (errno != EINTR) fail("cannot wait for it: {}", std::strerror(errno));
  }
}

void HttpClient::connect() {
  const Found found = look_up(address_);
  std::string reason = "no address";
  for (const addrinfo* a = found.get(); a != nullptr; a = a->ai_next) {
    close();
    socket_ = ::socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0) fail("cannot open a socket: {}", std::strerror(errno));
    const int now = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &now, sizeof now);
    int failure = ::connect(socket_, a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
    if (failure == EINPROGRESS) {
      wait(POLLOUT);
      socklen_t size = sizeof failure;
      ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &failure, &size);
    }
    if (failure == 0) return;
    reason = std::strerror(failure);
  }
  close();
  fail("cannot connect: {}", reason);
}

void HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      bytes.remove_prefix(static_cast<size_t>(sent));
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      wait(POLLOUT);
    else if (errno != EINTR)
      fail("cannot send to it: {}", std::strerror(errno));
  }
}

bool HttpClient::receive(size_t most) {
  std::array<char, kBytesAtOnce> buffer;
  for (;;) {
    wait(POLLIN);
    const ssize_t count = ::recv(socket_, buffer.data(), std::min(most, buffer.size()), 0);
    if (count >= 0) {
      received_.append(buffer.data(), static_cast<size_t>(count));
      return count > 0;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
      fail("cannot read its answer: {}", std::strerror(errno));
  }
}

HostAnswer HttpClient::read_answer(size_t most_bytes) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  size_t end = std::string::npos;
  while ((end = received_.find(kEnd)) == std::string::npos) {
    if (received_.size() >= kMostHeadBytes)
      fail("its answer has more than {} bytes of headers", kMostHeadBytes);
    if (!receive(kMostHeadBytes - received_.size())) fail("ended the connection");
  }
  const Head head = parse_head(std::string_view(received_).substr(0, end + 2));
  if (!head.body_bytes) fail("its answer has no Content-Length");
  if (*head.body_bytes > most_bytes)
    fail("its answer has {} bytes, expected at most {}", *head.body_bytes, most_bytes);
  received_.erase(0, end + kEnd.size());
  while (received_.size() < *head.body_bytes)
    if (!receive(*head.body_bytes - received_.size()))
      fail("ended the connection after {} of {} bytes", received_.size(), *head.body_bytes);
  if (received_.size() > *head.body_bytes) fail("sent more than its answer");
  HostAnswer answer = {head.status, std::move(received_)};
  received_.clear();
  if (head.ends_connection) close();
  return answer;
}

std::string HttpClient::head_of(const HostRequest& request) const {
  std::string head = fmt::format("{} {}{} HTTP/1.1\r\nHost: {}\r\n", request.method, address_.path,
                                 request.path, address_.authority);
  if (!key_.empty()) head += fmt::format("Authorization: Bearer {}\r\n", key_);
  if (request.method != "GET")
    head += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", request.content_type,
                        request.body.size());
  return head + "\r\n";
}

HostAnswer HttpClient::ask(const HostRequest& request) {
  deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit_);
  const bool kept = socket_ >= 0;
  try {
    if (!kept) connect();
    send(head_of(request));
    send(request.body);
    return read_answer(request.most_bytes);
  } catch (const HostError&) {
    const bool nothing_came = received_.empty();
    close();
    if (!kept || !nothing_came || Clock::now() >= deadline_) throw;
  }
  return ask(request);  // the host had ended the connection that was kept
}

}  // namespace tessera::hosts
