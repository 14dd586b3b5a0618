#include "program/serve/http_server.h"

#include <poll.h>
#include <sys/resource.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <optional>

#include "program/serve/api_error.h"
#include "program/serve/connections.h"
#include "program/serve/http_messages.h"
#include "program/serve/outbox.h"
#include "tessera/base/error.h"

namespace tessera::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using beast::error_code;
using Clock = std::chrono::steady_clock;

constexpr size_t kBufferBytes = 1 << 16;     // of a connection that are read and not yet used
constexpr size_t kHeadPieceBytes = 1 << 12;  // of a head, that are read at once
constexpr size_t kArrivingBodies = 16;       // of the largest size, that may be held at once
constexpr size_t kPieceBytes = 1 << 16;      // of an answer, for which write_seconds are given
constexpr int64_t kOtherFiles = 128;         // of this process: stores, models, the log
constexpr auto kLeave = std::chrono::seconds(30);  // for a client to send what nobody reads
constexpr auto kSilent = std::chrono::seconds(2);  // of it, in which nothing comes
constexpr int64_t kDropped = 1 << 24;              // bytes of it, and four of the largest bodies
constexpr auto kLookAgain = std::chrono::milliseconds(10);  // for a socket that is free

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

/// Makes an operation return when it is done, with its error in `error`.
auto into(error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

/// How many sockets this process may have, once it has asked for as many as it may.
int64_t most_sockets() {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1 << 20);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return std::max<int64_t>(static_cast<int64_t>(limit.rlim_cur) - kOtherFiles, 16);
}

/// What poll() says of a client's socket: 0 while it sends and reads.
int ends_of(int socket) {
  pollfd poll = {socket, POLLRDHUP, 0};
  return ::poll(&poll, 1, 0) <= 0 ? 0 : poll.revents;
}

/// Whether the client has left that the answer being worked on is for. One that has closed its
/// sending side may have gone, or may wait for the answer, which cannot be told apart before
/// something is sent: for some time it is believed to wait.
std::function<bool()> departure(int socket, Clock::duration patience) {
  return [=, closed = std::make_shared<std::atomic<Clock::time_point>>(Clock::time_point())] {
    const int ends = ends_of(socket);
    if (ends == 0) return false;
    if (ends & (POLLERR | POLLHUP | POLLNVAL)) return true;
    Clock::time_point never;
    closed->compare_exchange_strong(never, Clock::now());
    return Clock::now() - closed->load() > patience;
  };
}

/// TLS 1.2 and later with the certificate of the options; none where they name none.
std::unique_ptr<ssl::context> tls_of(const HttpOptions& options) {
  if (options.tls_certificate.empty()) return nullptr;
  auto tls = std::make_unique<ssl::context>(ssl::context::tls_server);
  tls->set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  error_code error;
  tls->use_certificate_chain_file(options.tls_certificate, error);
  if (error)
    throw DataError(options.tls_certificate, "is not a certificate in PEM ({})", error.message());
  tls->use_private_key_file(options.tls_key, ssl::context::pem, error);
  if (error)
    throw DataError(options.tls_key,
                    "is not a private key in PEM, or not that of the certificate {} ({})",
                    options.tls_certificate, error.message());
  return tls;
}

tcp::acceptor listening(asio::io_context& io, const HttpOptions& options) {
  const std::string address = fmt::format("{}:{}", options.host, options.port);
  error_code error;
  const auto found = tcp::resolver(io).resolve(options.host, std::to_string(options.port), error);
  for (const auto& entry : found) {
    const tcp::endpoint endpoint = entry.endpoint();
    tcp::acceptor acceptor(io);
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (!error) return acceptor;
  }
  if (error == asio::error::address_in_use)
    throw SystemError(address + " is in use", error.value());
  throw SystemError(fmt::format("{}: cannot listen there: {}", address, error.message()),
                    error.value());
}

}  // namespace

class HttpServer::Implementation {
 public:
  Implementation(const HttpOptions& options, Guard guard, Answer answer, OnRefusal on_refusal)
      : options_(options),
        guard_(std::move(guard)),
        answer_(std::move(answer)),
        on_refusal_(std::move(on_refusal)),
        connections_(kArrivingBodies * (kHeadBytes + options.body_bytes)),
        tls_(tls_of(options)),
        acceptor_(listening(io_, options)),
        threads_(options.threads) {
    asio::co_spawn(io_, accept_all(), asio::detached);
  }

  void run() { io_.run(); }  // until no connection is left

  void stop() {
    asio::post(io_, [this] {
      stopping_ = true;
      acceptor_.close();
      connections_.close_all();
    });
  }

  int port() const { return port_; }
  int64_t connections() const { return connections_.count(); }

 private:
  template <typename Stream>
  class Connection;

  asio::awaitable<void> accept_all();
  void begin(tcp::socket socket);
  asio::awaitable<void> serve(tcp::socket socket);
  asio::awaitable<Response> answer_of(Request request) {
    try {
      co_return answer_(std::move(request));
    } catch (...) {
      co_return as_api_error(std::current_exception()).response();
    }
  }

  HttpOptions options_;
  Guard guard_;
  Answer answer_;
  OnRefusal on_refusal_;
  int64_t most_connections_ = most_sockets();
  Connections connections_;
  bool stopping_ = false;
  std::unique_ptr<ssl::context> tls_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  int port_ = acceptor_.local_endpoint().port();
  asio::thread_pool threads_;
};

/// A connection, from the first byte of its first request to its last. Stream: encrypted or not.
template <typename Stream>
class HttpServer::Implementation::Connection {
 public:
  Connection(Implementation& server, Stream& stream, Connections::Place& place, std::string client)
      : server_(server), stream_(stream), place_(place), client_(std::move(client)) {}

  /// Answers one request after the other.
  asio::awaitable<void> talk() {
    while (!server_.stopping_) {
      if (buffer_.size() == 0) {
        buffer_.shrink_to_fit();  // of thousands that are idle
        place_.waits(Waiting::kForRequest);
        unencrypted().expires_after(seconds(options_.idle_seconds));
        error_code error;
        const auto room = buffer_.prepare(512);
        const size_t count = co_await stream_.async_read_some(room, into(error));
        if (error) co_return;
        buffer_.commit(count);
      }
      place_.waits(Waiting::kForItsRest);
      unencrypted().expires_after(seconds(options_.read_seconds));
      const bool goes_on = co_await answer_next();
      if (!goes_on) break;
    }
    co_await leave();
  }

 private:
  /// Reads the next request and answers it; returns whether another one may follow.
  asio::awaitable<bool> answer_next() {
    RequestParser parser;
    set_limits(parser, options_.body_bytes);
    error_code error;
    error = co_await read_head(parser);
    const auto& head = parser.get();
    Request request = request_of(head, client_);  // as far as it could be read
    std::optional<Response> refused;
    if (!error) refused = server_.guard_(request);
    if (!error && !refused) refused = refusal_of_head(head);
    if (!error && !refused) error = co_await read_body(parser);
    if (error) refused = answer_to(error);
    if (error && !refused) co_return false;
    place_.works();
    if (refused) {  // what was sent of the body may not be read, so no other request can follow
      server_.on_refusal_(request, *refused);
      co_await write(head, *std::move(refused), /*keeps=*/false);
      co_return false;
    }
    request.body = std::move(parser.get().body());
    const int socket = unencrypted().socket().native_handle();
    request.hung_up = departure(socket, seconds(options_.half_closed_seconds));
    request.may_have_gone = [socket] { return ends_of(socket) != 0; };
    // The answer is made on another thread, and written on this one.
    Response response = co_await asio::co_spawn(
        server_.threads_, server_.answer_of(std::move(request)), asio::use_awaitable);
    const bool keeps = head.keep_alive() && !server_.stopping_;
    const bool written = co_await write(head, std::move(response), keeps);
    co_return (written && keeps);
  }

  /// The first line and the headers, of which something has come. The parser keeps what it has
  /// read.
  asio::awaitable<error_code> read_head(RequestParser& parser) {
    error_code error;
    for (size_t held = buffer_.size();;) {
      buffer_.consume(parser.put(buffer_.data(), error));
      if (error != http::error::need_more) co_return error;
      const auto room = buffer_.prepare(kHeadPieceBytes);
      const size_t count = co_await stream_.async_read_some(room, into(error));
      if (error) co_return error;
      buffer_.commit(count);
      place_.holds(held += count);
    }
  }

  asio::awaitable<error_code> read_body(RequestParser& parser) {
    error_code error;
    const bool is_asked_for = parser.get().version() >= 11 &&
                              !parser.get()[http::field::expect].empty() && !parser.is_done();
    if (is_asked_for) {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      const auto text = asio::buffer(kContinue);
      co_await asio::async_write(stream_, text, into(error));
    }
    while (!error && !parser.is_done()) {
      co_await http::async_read_some(stream_, buffer_, parser, into(error));
      place_.holds(parser.get().body().size());
    }
    co_return error;
  }

  /// Returns whether the client took in all of it.
  asio::awaitable<bool> write(const RequestHead& head, Response response, bool keeps) {
    if (response.events) co_return co_await write_events(head, response, keeps);
    std::string bytes = head_of(response, head, kept(keeps), /*chunked=*/false);
    if (head.method() == http::verb::head) co_return co_await write_bytes(bytes);
    if (response.body.size() <= kPieceBytes) {  // in one packet, where it fits
      bytes += response.body;
      co_return co_await write_bytes(bytes);
    }
    const bool begun = co_await write_bytes(bytes);
    if (!begun) co_return false;
    co_return co_await write_bytes(response.body);
  }

  /// Events in chunks; to a client of HTTP/1.0, which knows no chunks, as they are. They come from
  /// another thread; what has come while some were written is written together.
  asio::awaitable<bool> write_events(const RequestHead& head, Response& response, bool keeps) {
    const bool chunked = head.version() >= 11;
    const std::string bytes = head_of(response, head, kept(keeps && chunked), chunked);
    const bool begun = co_await write_bytes(bytes);
    if (!begun || head.method() == http::verb::head) co_return (begun && chunked);
    asio::steady_timer news(server_.io_, Clock::time_point::max());  // cancelled by any
    Outbox outbox([&] { asio::post(server_.io_, [&] { news.cancel(); }); });
    bool ended = false, complete = false, open = true;
    const auto make_events = [&]() -> asio::awaitable<void> {
      response.events(outbox);
      co_return;
    };
    asio::co_spawn(server_.threads_, make_events, [&](const std::exception_ptr& failure) {
      asio::post(server_.io_, [&, failed = failure != nullptr] {
        ended = true;
        complete = !failed;
        news.cancel();
      });
    });
    for (;;) {
      std::string text = outbox.take();
      if (text.empty() && ended) break;
      if (text.empty()) {
        error_code cancelled;
        co_await news.async_wait(into(cancelled));
        continue;
      }
      if (!open) continue;  // nothing more is written to a client that has left
      try {
        if (chunked) text = beast::buffers_to_string(http::make_chunk(asio::buffer(text)));
        open = co_await write_bytes(text);
      } catch (const std::bad_alloc&) {  // the other thread still uses the outbox
        open = false;
      }
      if (!open) outbox.close();
    }
    if (!open || !complete || !chunked) co_return false;
    const std::string last = beast::buffers_to_string(http::make_chunk_last());
    co_return co_await write_bytes(last);
  }

  /// In pieces, each of which the client must take in within its time. Returns whether it did.
  asio::awaitable<bool> write_bytes(std::string_view bytes) {
    error_code error;
    while (!error && !bytes.empty()) {
      const auto piece = asio::buffer(bytes.substr(0, kPieceBytes));
      unencrypted().expires_after(seconds(options_.write_seconds));
      co_await asio::async_write(stream_, piece, into(error));
      bytes.remove_prefix(piece.size());
    }
    co_return !error;
  }

  /// Tells the client that no more answers come, and drops what it still sends for some time: to
  /// close at once would take a refusal away from one that sends its whole request first.
  asio::awaitable<void> leave() {
    error_code error;
    place_.waits(Waiting::kToLeave);
    unencrypted().expires_after(kSilent);
    if constexpr (!std::is_same_v<Stream, beast::tcp_stream>)
      co_await stream_.async_shutdown(into(error));
    tcp::socket& socket = unencrypted().socket();
    socket.shutdown(tcp::socket::shutdown_send, error);
    std::array<char, 4096> dropped;
    const auto room = asio::buffer(dropped);
    const auto end = Clock::now() + kLeave;
    for (int64_t left = kDropped + 4 * options_.body_bytes;
         !error && left > 0 && Clock::now() < end;) {
      unencrypted().expires_after(kSilent);
      left -= co_await unencrypted().async_read_some(room, into(error));
    }
  }

  /// For how many seconds the client is told that the connection is kept.
  std::optional<double> kept(bool keeps) const {
    return keeps ? std::optional(options_.idle_seconds) : std::nullopt;
  }
  beast::tcp_stream& unencrypted() { return beast::get_lowest_layer(stream_); }

  Implementation& server_;
  const HttpOptions& options_ = server_.options_;
  Stream& stream_;
  Connections::Place& place_;
  const std::string client_;  // its address
  beast::flat_buffer buffer_{kBufferBytes};
};

asio::awaitable<void> HttpServer::Implementation::accept_all() {
  asio::steady_timer timer(io_);
  for (;;) {
    error_code error;
    tcp::socket socket = co_await acceptor_.async_accept(into(error));
    if (stopping_) co_return;
    const bool is_full =
        error == asio::error::no_descriptors || connections_.count() >= most_connections_;
    const bool is_room_made = is_full && connections_.close_one();  // not the new one, which waits
    if (!error) begin(std::move(socket));
    if (is_room_made || !(error || is_full)) continue;
    timer.expires_after(kLookAgain);  // all are being answered
    co_await timer.async_wait(into(error));
  }
}

/// Where there is no memory for another connection, it is closed.
void HttpServer::Implementation::begin(tcp::socket socket) {
  try {
    asio::co_spawn(io_, serve(std::move(socket)), asio::detached);
  } catch (const std::bad_alloc&) {
  }
}

/// A connection, from its first byte to its last.
asio::awaitable<void> HttpServer::Implementation::serve(tcp::socket socket) {
  error_code error;
  socket.set_option(tcp::no_delay(true), error);
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) co_return;
  const std::string client = peer.address().to_string();
  if (!tls_) {
    beast::tcp_stream stream(std::move(socket));
    Connections::Place place(connections_, [&] { stream.close(); });
    Connection connection(*this, stream, place, client);
    co_await connection.talk();
    co_return;
  }
  beast::ssl_stream<beast::tcp_stream> stream(std::move(socket), *tls_);
  Connections::Place place(connections_, [&] { stream.next_layer().close(); });
  place.waits(Waiting::kForItsRest);
  stream.next_layer().expires_after(seconds(options_.read_seconds));
  co_await stream.async_handshake(ssl::stream_base::server, into(error));
  if (error) co_return;
  Connection connection(*this, stream, place, client);
  co_await connection.talk();
}

HttpServer::HttpServer(const HttpOptions& options, Guard guard, Answer answer, OnRefusal on_refusal)
    : server_(std::make_unique<Implementation>(options, std::move(guard), std::move(answer),
                                               std::move(on_refusal))) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const {
  return server_->port();
}
void HttpServer::run() {
  server_->run();
}
void HttpServer::stop() {
  server_->stop();
}
int64_t HttpServer::connections() const {
  return server_->connections();
}

}  // namespace tessera::serve
