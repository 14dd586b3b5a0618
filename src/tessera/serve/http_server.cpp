#include "tessera/serve/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <httplib.h>

#include <array>
#include <atomic>

#include "tessera/base/error.h"
#include "tessera/serve/api_error.h"
#include "tessera/serve/poller.h"
#include "tessera/serve/threads.h"

namespace tessera::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kToldRequests = 1000;  // of one connection, in the header Keep-Alive; no limit

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

/// A connection while its request is answered.
class Answering : public httplib::Stream {
 public:
  Answering(Connection& connection, const HttpOptions& options)
      : connection_(connection),
        write_(seconds(options.write_seconds)),
        read_until_(Clock::now() + seconds(options.read_seconds)) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return !connection_.hung_up(); }
  ssize_t read(char* to, size_t size) override { return connection_.read(to, size, read_until_); }
  ssize_t write(const char* from, size_t size) override {
    return connection_.write({from, size}, Clock::now() + write_);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    address(&::getpeername, ip, port);
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    address(&::getsockname, ip, port);
  }
  socket_t socket() const override { return connection_.socket(); }

  bool hung_up() const { return connection_.hung_up(); }

  /// What was sent of this request's body may not be read, so no other request can follow.
  bool end_after_answer = false;

 private:
  void address(int (*name_of)(int, sockaddr*, socklen_t*), std::string& ip, int& port) const {
    sockaddr_storage storage = {};
    socklen_t size = sizeof storage;
    std::array<char, INET6_ADDRSTRLEN> text = {};
    if (name_of(socket(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) return;
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

  Connection& connection_;
  Clock::duration write_;
  Clock::time_point read_until_;
};

/// What this thread answers.
thread_local Answering* current = nullptr;

class SinkStream : public EventStream {
 public:
  explicit SinkStream(httplib::DataSink& sink) : sink_(sink) {}
  bool send(std::string_view data) override { return write(fmt::format("data: {}\n\n", data)); }
  bool send_comment() override { return write(":\n\n"); }

 private:
  bool write(const std::string& text) {
    return !current->hung_up() && sink_.write(text.data(), text.size());
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
  request.hung_up = [answering = current] { return answering->hung_up(); };
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

/// The whole answer to a request that did not arrive in time.
std::string late_answer() {
  const Response late = ApiError(408, "the request came too slowly").response();
  return fmt::format(
      "HTTP/1.1 408 Request Timeout\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      late.content_type, late.body.size(), late.body);
}

std::unique_ptr<Tls> tls_of(const HttpOptions& options) {
  if (options.tls_certificate.empty()) return nullptr;
  return std::make_unique<Tls>(options.tls_certificate, options.tls_key);
}

}  // namespace

/// cpp-httplib understands requests and writes answers; connections and threads are ours.
class HttpServer::Implementation : public httplib::Server {
 public:
  Implementation(const HttpOptions& options, Guard guard, serve::Handler handler)
      : options_(options),
        guard_(std::move(guard)),
        handler_(std::move(handler)),
        tls_(tls_of(options)) {
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
    open_port();
    poller_.emplace(svr_sock_, poller_options(), tls_.get(),
                    [this](std::unique_ptr<Connection> connection) {
                      threads_->add([this, held = std::make_shared<std::unique_ptr<Connection>>(
                                               std::move(connection))] { serve(*held); });
                    });
  }

  ~Implementation() override { ::close(svr_sock_); }

  void run() {
    threads_.emplace(options_.clients);
    poller_->run();
    threads_.reset();  // answers what has begun
  }
  void end() {
    stopping_ = true;
    poller_->stop();
  }
  int port() const { return port_; }
  int64_t connections() const { return poller_->connections(); }

 private:
  void open_port() {
    port_ = options_.port == 0 ? bind_to_any_port(options_.host)
                               : (bind_to_port(options_.host, options_.port) ? options_.port : -1);
    if (port_ < 0)
      throw SystemError(fmt::format("{}:{}", options_.host, options_.port), "listen at", errno);
    ::listen(svr_sock_, SOMAXCONN);  // the library's own number is 5
    ::fcntl(svr_sock_, F_SETFL, O_NONBLOCK);
  }

  PollerOptions poller_options() const {
    return {.body_bytes = static_cast<size_t>(options_.body_bytes),
            .idle = seconds(options_.idle_seconds),
            .read = seconds(options_.read_seconds),
            .late_answer = late_answer()};
  }

  /// Answers the requests that have arrived on a connection.
  void serve(std::unique_ptr<Connection>& connection) {
    do {
      Answering answering(*connection, options_);
      current = &answering;
      bool closed = false;
      const bool answered = process_request(answering, stopping_, closed, nullptr);
      current = nullptr;
      if (!answered || closed || stopping_ || answering.end_after_answer) {
        connection->end();
        break;
      }
      connection->buffer().end_request();
    } while (connection->buffer().arrived() == RequestBuffer::Arrived::kRequest);
    poller_->give_back(std::move(connection));
  }

  HttpOptions options_;
  Guard guard_;
  serve::Handler handler_;
  std::unique_ptr<Tls> tls_;
  int port_ = -1;
  std::atomic<bool> stopping_ = false;
  std::optional<Poller> poller_;
  std::optional<Threads> threads_;
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
