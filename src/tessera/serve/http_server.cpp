#include "tessera/serve/http_server.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "tessera/base/error.h"
#include "tessera/serve/api_error.h"

namespace tessera::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostHeadBytes = 1 << 16;  // of the request line and the headers
constexpr size_t kToldRequests = 1000;      // of one connection, in the header Keep-Alive; no limit
constexpr int kWaitingConnections = 512;    // that the system holds until they are accepted
constexpr auto kGrace = std::chrono::milliseconds(500);  // an idle connection keeps its thread
constexpr auto kLook = std::chrono::milliseconds(100);   // between two looks at what else is up

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

/// Whether the socket is ready for `events` before the deadline.
bool ready(int socket, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd poll = {socket, events, 0};
    const int found = ::poll(&poll, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (found > 0) return true;
    if (found == 0 || errno != EINTR) return false;
  }
}

bool hung_up(int socket) {
  pollfd poll = {socket, POLLRDHUP, 0};
  return ::poll(&poll, 1, 0) > 0;
}

/// The threads, one for each connection that is served; further connections wait in a queue.
class Threads : public httplib::TaskQueue {
 public:
  explicit Threads(int64_t count, std::atomic<int64_t>& waiting) : waiting_(waiting) {
    for (int64_t i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }
  void enqueue(std::function<void()> task) override {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      waiting_ = std::ssize(tasks_) - idle_;
    }
    changed_.notify_one();
  }
  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      changed_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      waiting_ = std::ssize(tasks_) - idle_;
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  int64_t idle_ = 0;
  bool stopped_ = false;
  std::atomic<int64_t>& waiting_;  // tasks that no thread is free for
};

/// One connection: buffered reading, with a time limit and a size limit for each request.
class Connection : public httplib::Stream {
 public:
  Connection(int socket, const HttpOptions& options) : socket_(socket), options_(options) {}

  /// The next read is the first of a request.
  void begin_request() {
    deadline_ = Clock::now() + seconds(options_.read_seconds);
    allowed_ = kMostHeadBytes + static_cast<size_t>(options_.body_bytes);
    end_after_answer = false;
  }
  bool has_buffered() const { return first_ < last_; }

  bool is_readable() const override { return has_buffered() || ready(socket_, POLLIN, deadline_); }
  bool is_writable() const override { return !hung_up(socket_); }
  ssize_t read(char* to, size_t size) override {
    if (!has_buffered()) {
      if (!ready(socket_, POLLIN, deadline_)) return -1;
      const ssize_t count = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
      if (count <= 0) return count;
      first_ = 0;
      last_ = static_cast<size_t>(count);
    }
    const size_t count = std::min({size, last_ - first_, allowed_});
    if (count == 0) return -1;
    allowed_ -= count;
    std::copy_n(buffer_.data() + first_, count, to);
    first_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, size_t size) override {
    if (!ready(socket_, POLLOUT, Clock::now() + seconds(options_.write_seconds))) return -1;
    return ::send(socket_, from, size, MSG_NOSIGNAL);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    address(&::getpeername, ip, port);
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    address(&::getsockname, ip, port);
  }
  socket_t socket() const override { return socket_; }

  /// What was sent of this request's body is not read, so no other request can follow.
  bool end_after_answer = false;

 private:
  void address(int (*name_of)(int, sockaddr*, socklen_t*), std::string& ip, int& port) const {
    sockaddr_storage storage = {};
    socklen_t size = sizeof storage;
    std::array<char, INET6_ADDRSTRLEN> text = {};
    if (name_of(socket_, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return;
    if (storage.ss_family == AF_INET) {
      const auto& known = reinterpret_cast<const sockaddr_in&>(storage);
      ::inet_ntop(AF_INET, &known.sin_addr, text.data(), text.size());
      port = ntohs(known.sin_port);
    } else if (storage.ss_family == AF_INET6) {
      const auto& known = reinterpret_cast<const sockaddr_in6&>(storage);
      ::inet_ntop(AF_INET6, &known.sin6_addr, text.data(), text.size());
      port = ntohs(known.sin6_port);
    }
    ip = text.data();
  }

  int socket_;
  const HttpOptions& options_;
  std::array<char, 16384> buffer_;
  size_t first_ = 0, last_ = 0;  // of what is in the buffer
  size_t allowed_ = 0;           // bytes that this request may still have
  Clock::time_point deadline_;
};

/// The connection of this thread.
thread_local Connection* current = nullptr;

class SinkStream : public EventStream {
 public:
  explicit SinkStream(httplib::DataSink& sink) : sink_(sink) {}
  bool send(std::string_view data) override { return write(fmt::format("data: {}\n\n", data)); }
  bool send_comment() override { return write(":\n\n"); }

 private:
  bool write(const std::string& text) {
    return !hung_up(current->socket()) && sink_.write(text.data(), text.size());
  }
  httplib::DataSink& sink_;
};

Request request_of(const httplib::Request& from) {
  Request request;
  request.method = from.method;
  request.path = from.target.substr(0, from.target.find_first_of("?#"));
  for (const auto& [name, value] : from.params) request.query.emplace(name, value);
  for (const auto& [name, value] : from.headers) request.headers.emplace(name, value);
  request.body = from.body;
  request.client = from.remote_addr;
  request.hung_up = [socket = current->socket()] { return hung_up(socket); };
  return request;
}

void set_response(httplib::Response& to, Response&& response) {
  to.status = response.status;
  for (const auto& [name, value] : response.headers) to.set_header(name, value);
  if (!response.events) {
    to.set_content(response.body, response.content_type);
    return;
  }
  to.set_chunked_content_provider(response.content_type, [events = std::move(response.events)](
                                                             size_t, httplib::DataSink& sink) {
    SinkStream stream(sink);
    events(stream);
    sink.done();
    return true;
  });
}

}  // namespace

class HttpServer::Implementation : public httplib::Server {
 public:
  Implementation(const HttpOptions& options, Guard guard, serve::Handler handler)
      : options_(options), guard_(std::move(guard)), handler_(std::move(handler)) {
    new_task_queue = [this] { return new Threads(options_.clients, waiting_); };
    set_tcp_nodelay(true);
    set_keep_alive_timeout(static_cast<time_t>(options.idle_seconds));  // what clients are told
    set_keep_alive_max_count(kToldRequests);
    set_payload_max_length(static_cast<size_t>(options.body_bytes));
    set_pre_routing_handler([this](const httplib::Request& from, httplib::Response& to) {
      auto refused = guard_(request_of(from));
      if (!refused) return HandlerResponse::Unhandled;
      current->end_after_answer = true;
      set_response(to, std::move(*refused));
      return HandlerResponse::Handled;
    });
    const auto answer = [this](const httplib::Request& from, httplib::Response& to) {
      set_response(to, handler_(request_of(from)));
    };
    Get(".*", answer).Post(".*", answer).Put(".*", answer).Patch(".*", answer);
    Delete(".*", answer).Options(".*", answer);
    set_error_handler([](const httplib::Request&, httplib::Response& to) {
      if (!to.body.empty()) return;  // an answer of the handler
      current->end_after_answer = true;
      const bool large = to.status == 413;
      set_response(to,
                   ApiError(to.status, "{}",
                            large ? "the body is too large; tessera serve --max-body allows more"
                                  : "the request is not valid HTTP, or came too slowly")
                       .response());
    });
    port_ = options.port == 0 ? bind_to_any_port(options.host)
                              : (bind_to_port(options.host, options.port) ? options.port : -1);
    if (port_ < 0)
      throw SystemError(fmt::format("{}:{}", options.host, options.port), "listen at", errno);
  }

  ~Implementation() override {
    if (svr_sock_ != INVALID_SOCKET) ::close(svr_sock_);
  }

  void run() {
    ::listen(svr_sock_, kWaitingConnections);  // the library's own number is 5
    started_ = true;
    if (!stopping_) listen_after_bind();
    finished_ = true;
  }
  void end() {
    if (stopping_.exchange(true)) return;
    while (started_ && !finished_ && !is_running())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    httplib::Server::stop();
  }
  int port() const { return port_; }
  int64_t connections() const { return connections_; }

 private:
  /// Serves the requests of one connection, then closes it.
  bool process_and_close_socket(socket_t socket) override {
    ++connections_;
    Connection connection(socket, options_);
    current = &connection;
    while (wait_for_request(connection)) {
      connection.begin_request();
      bool closed = false;
      const bool answered = process_request(connection, stopping_, closed, nullptr);
      if (!answered || closed || stopping_ || connection.end_after_answer) break;
    }
    current = nullptr;
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    --connections_;
    return true;
  }

  /// An idle connection gives up its thread where another connection waits for one.
  bool wait_for_request(const Connection& connection) const {
    if (connection.has_buffered()) return !stopping_;
    const auto started = Clock::now();
    while (!stopping_ && Clock::now() - started < seconds(options_.idle_seconds)) {
      if (ready(connection.socket(), POLLIN, Clock::now() + kLook)) return true;
      if (waiting_ > 0 && Clock::now() - started > kGrace) return false;
    }
    return false;
  }

  HttpOptions options_;
  Guard guard_;
  serve::Handler handler_;
  int port_ = -1;
  std::atomic<bool> started_ = false, finished_ = false, stopping_ = false;
  std::atomic<int64_t> waiting_ = 0, connections_ = 0;
};

HttpServer::HttpServer(const HttpOptions& options, Guard guard, Handler handler)
    : server_(std::make_unique<Implementation>(options, std::move(guard), std::move(handler))) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const {
  return server_->port();
}
void HttpServer::run() {
  server_->run();
}
void HttpServer::stop() {
  server_->end();
}
int64_t HttpServer::connections() const {
  return server_->connections();
}

}  // namespace tessera::serve
