#include "tessera/serve/http_server.h"

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
#include <boost/asio/use_future.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <sstream>

#include "tessera/base/error.h"
#include "tessera/serve/api_error.h"
#include "tessera/serve/connections.h"

namespace tessera::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using beast::error_code;
using Clock = std::chrono::steady_clock;
using Parser = http::request_parser<http::string_body>;

constexpr uint32_t kHeadBytes = 1 << 15;          // limit of a request's first line and headers
constexpr size_t kArrivingBodies = 16;            // of the largest size, that may be held at once
constexpr size_t kPieceBytes = 1 << 16;           // of an answer, for which write_seconds are given
constexpr int64_t kOtherFiles = 128;              // of this process: stores, models, the log
constexpr auto kLeave = std::chrono::seconds(1);  // for a client to close what has ended
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

// ---- Encryption.

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

// ---- Between Beast's messages and ours.

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// The request but for its body.
Request request_of(const Parser::value_type& from, const std::string& client) {
  Request request;
  request.method = view(from.method_string());
  request.set_target(view(from.target()));
  for (const auto& field : from)
    request.headers.emplace(view(field.name_string()), view(field.value()));
  request.client = client;
  return request;
}

/// The refusal of a request that is not even read to its end.
Response refusal(int status, const std::string& what) {
  return ApiError(status, "{}", what).response();
}

/// What is answered where a request cannot be read; none where there is nobody to answer.
std::optional<Response> answer_to(error_code error) {
  if (error == http::error::body_limit)
    return refusal(413, "the body is too large; tessera serve --max-body allows more");
  if (error == http::error::header_limit)
    return refusal(431, fmt::format("the request's headers have more than {} bytes", kHeadBytes));
  if (error == http::error::end_of_stream || error == http::error::partial_message)
    return std::nullopt;
  if (error.category() == make_error_code(http::error::bad_method).category())
    return refusal(400, "the request is not valid HTTP: " + error.message());
  return std::nullopt;
}

/// What a head promises that this server does not do.
std::optional<Response> refusal_of_head(const Parser::value_type& head) {
  const auto encoding = head[http::field::content_encoding];
  if (!encoding.empty() && !beast::iequals(encoding, "identity"))
    return refusal(415, "the body's Content-Encoding is not supported; send it as it is");
  const auto expected = head[http::field::expect];
  if (!expected.empty() && !beast::iequals(expected, "100-continue"))
    return refusal(417, "the only Expect that is supported is 100-continue");
  if (head.count(http::field::host) > 1) return refusal(400, "the request has several Hosts");
  return std::nullopt;
}

/// Whether anybody waits for the answer that is being worked on. A client that has closed its
/// sending side may have gone, or may wait for the answer, which cannot be told apart before
/// something is sent: for some time it is believed to wait.
class Departure {
 public:
  Departure(int socket, Clock::duration patience) : socket_(socket), patience_(patience) {}

  bool operator()() {
    pollfd poll = {socket_, POLLRDHUP, 0};
    if (::poll(&poll, 1, 0) <= 0) return false;
    if (poll.revents & (POLLERR | POLLHUP | POLLNVAL)) return true;
    if (!closed_) closed_ = Clock::now();
    return Clock::now() - *closed_ > patience_;
  }

 private:
  int socket_;
  Clock::duration patience_;
  std::optional<Clock::time_point> closed_;
};

std::function<void()> closing(beast::tcp_stream& stream) {
  return [&stream] { stream.close(); };
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
  if (error == asio::error::address_in_use) throw SystemError(address + " is in use");
  throw SystemError(fmt::format("{}: cannot listen there: {}", address, error.message()));
}

}  // namespace

class HttpServer::Implementation {
 public:
  Implementation(const HttpOptions& options, Guard guard, Handler handler)
      : options_(options),
        guard_(std::move(guard)),
        handler_(std::move(handler)),
        connections_(kArrivingBodies * (kHeadBytes + static_cast<size_t>(options.body_bytes))),
        tls_(tls_of(options)),
        acceptor_(listening(io_, options)),
        threads_(static_cast<size_t>(options.threads)) {
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
  asio::awaitable<void> accept_all();
  void begin(tcp::socket socket);
  asio::awaitable<void> serve(tcp::socket socket);
  template <typename Stream>
  asio::awaitable<void> talk(Stream& stream, Connections::Place& place, const std::string& client);
  template <typename Stream>
  asio::awaitable<bool> answer_next(Stream& stream, Connections::Place& place,
                                    const std::string& client, beast::flat_buffer& buffer);
  template <typename Stream>
  asio::awaitable<error_code> read_body(Stream& stream, Connections::Place& place,
                                        beast::flat_buffer& buffer, Parser& parser);
  template <typename Stream>
  asio::awaitable<bool> write(Stream& stream, const Parser::value_type& head, Response response,
                              bool keeps);
  template <typename Stream>
  asio::awaitable<bool> write_events(Stream& stream, const Parser::value_type& head,
                                     Response& response, bool keeps);
  template <typename Stream>
  asio::awaitable<bool> write_bytes(Stream& stream, std::string_view bytes);
  std::string head_of(const Response& response, const Parser::value_type& head, bool keeps,
                      bool chunked) const;
  template <typename Stream>
  asio::awaitable<void> leave(Stream& stream, Connections::Place& place);
  asio::awaitable<Response> answer_of(Request request);

  class Events;

  HttpOptions options_;
  Guard guard_;
  Handler handler_;
  int64_t most_connections_ = most_sockets();
  Connections connections_;
  bool stopping_ = false;
  std::unique_ptr<ssl::context> tls_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  int port_ = acceptor_.local_endpoint().port();
  asio::thread_pool threads_;
};

asio::awaitable<void> HttpServer::Implementation::accept_all() {
  asio::steady_timer timer(io_);
  for (;;) {
    error_code error;
    tcp::socket socket = co_await acceptor_.async_accept(into(error));
    if (stopping_) co_return;
    if (!error) begin(std::move(socket));
    const bool is_full =
        error == asio::error::no_descriptors || connections_.count() >= most_connections_;
    if ((is_full && connections_.close_one()) || !(error || is_full)) continue;
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
    Connections::Place place(connections_, closing(stream));
    co_await talk(stream, place, client);
    co_return;
  }
  beast::ssl_stream<beast::tcp_stream> stream(std::move(socket), *tls_);
  Connections::Place place(connections_, closing(stream.next_layer()));
  place.waits(Waiting::kForItsRest);
  stream.next_layer().expires_after(seconds(options_.read_seconds));
  co_await stream.async_handshake(ssl::stream_base::server, into(error));
  if (!error) co_await talk(stream, place, client);
}

/// Answers one request after the other.
template <typename Stream>
asio::awaitable<void> HttpServer::Implementation::talk(Stream& stream, Connections::Place& place,
                                                       const std::string& client) {
  beast::flat_buffer buffer;
  while (!stopping_) {
    if (buffer.size() == 0) {
      buffer.shrink_to_fit();  // of thousands that are idle
      place.waits(Waiting::kForRequest);
      beast::get_lowest_layer(stream).expires_after(seconds(options_.idle_seconds));
      error_code error;
      const auto room = buffer.prepare(512);
      const size_t count = co_await stream.async_read_some(room, into(error));
      if (error) co_return;
      buffer.commit(count);
    }
    place.waits(Waiting::kForItsRest);
    beast::get_lowest_layer(stream).expires_after(seconds(options_.read_seconds));
    const bool goes_on = co_await answer_next(stream, place, client, buffer);
    if (!goes_on) break;
  }
  co_await leave(stream, place);
}

/// Reads the next request and answers it; returns whether another one may follow.
template <typename Stream>
asio::awaitable<bool> HttpServer::Implementation::answer_next(Stream& stream,
                                                              Connections::Place& place,
                                                              const std::string& client,
                                                              beast::flat_buffer& buffer) {
  Parser parser;
  parser.header_limit(kHeadBytes);
  parser.body_limit(static_cast<uint64_t>(options_.body_bytes));
  error_code error;
  co_await http::async_read_header(stream, buffer, parser, into(error));
  const auto& head = parser.get();
  Request request;
  std::optional<Response> refused;
  if (!error) {
    request = request_of(head, client);
    refused = guard_(request);
    if (!refused) refused = refusal_of_head(head);
  }
  if (!error && !refused) error = co_await read_body(stream, place, buffer, parser);
  if (error) refused = answer_to(error);
  if (error && !refused) co_return false;
  place.works();
  if (refused) {  // what was sent of the body may not be read, so no other request can follow
    co_await write(stream, head, *std::move(refused), /*keeps=*/false);
    co_return false;
  }
  request.body = std::move(parser.get().body());
  request.hung_up = Departure(beast::get_lowest_layer(stream).socket().native_handle(),
                              seconds(options_.half_closed_seconds));
  // The answer is made on another thread, and written on this one.
  Response response =
      co_await asio::co_spawn(threads_, answer_of(std::move(request)), asio::use_awaitable);
  const bool keeps = head.keep_alive() && !stopping_;
  const bool written = co_await write(stream, head, std::move(response), keeps);
  co_return written&& keeps;
}

template <typename Stream>
asio::awaitable<error_code> HttpServer::Implementation::read_body(Stream& stream,
                                                                  Connections::Place& place,
                                                                  beast::flat_buffer& buffer,
                                                                  Parser& parser) {
  error_code error;
  const bool is_asked_for = parser.get().version() >= 11 &&
                            !parser.get()[http::field::expect].empty() && !parser.is_done();
  if (is_asked_for) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    const auto text = asio::buffer(kContinue);
    co_await asio::async_write(stream, text, into(error));
  }
  while (!error && !parser.is_done()) {
    co_await http::async_read_some(stream, buffer, parser, into(error));
    place.holds(parser.get().body().size());
  }
  co_return error;
}

/// The first line and the headers of the answer to a request with this head.
std::string HttpServer::Implementation::head_of(const Response& response,
                                                const Parser::value_type& head, bool keeps,
                                                bool chunked) const {
  http::response_header<> fields;
  fields.version(head.version());
  fields.result(static_cast<unsigned>(response.status));
  if (response.status != 204) fields.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) fields.set(name, value);
  if (chunked)
    fields.set(http::field::transfer_encoding, "chunked");
  else if (!response.events && response.status != 204)
    fields.set(http::field::content_length, std::to_string(response.body.size()));
  if (!keeps)
    fields.set(http::field::connection, "close");
  else if (head.version() < 11)
    fields.set(http::field::connection, "keep-alive");
  if (keeps)
    fields.set(http::field::keep_alive, fmt::format("timeout={:.0f}", options_.idle_seconds));
  std::ostringstream text;
  text << fields;
  return text.str();
}

asio::awaitable<Response> HttpServer::Implementation::answer_of(Request request) {
  try {
    co_return handler_(request);
  } catch (...) {
    co_return as_api_error(std::current_exception()).response();
  }
}

/// In pieces, each of which the client must take in within its time. Returns whether it did.
template <typename Stream>
asio::awaitable<bool> HttpServer::Implementation::write_bytes(Stream& stream,
                                                              std::string_view bytes) {
  error_code error;
  while (!error && !bytes.empty()) {
    const auto piece = asio::buffer(bytes.substr(0, kPieceBytes));
    beast::get_lowest_layer(stream).expires_after(seconds(options_.write_seconds));
    co_await asio::async_write(stream, piece, into(error));
    bytes.remove_prefix(piece.size());
  }
  co_return !error;
}

/// Returns whether the client took in all of it.
template <typename Stream>
asio::awaitable<bool> HttpServer::Implementation::write(Stream& stream,
                                                        const Parser::value_type& head,
                                                        Response response, bool keeps) {
  if (response.events) co_return co_await write_events(stream, head, response, keeps);
  std::string bytes = head_of(response, head, keeps, /*chunked=*/false);
  if (head.method() == http::verb::head) co_return co_await write_bytes(stream, bytes);
  if (response.body.size() <= kPieceBytes) {  // in one packet, where it fits
    bytes += response.body;
    co_return co_await write_bytes(stream, bytes);
  }
  const bool begun = co_await write_bytes(stream, bytes);
  co_return begun&& co_await write_bytes(stream, response.body);
}

/// Where a thread that answers leaves its events.
class HttpServer::Implementation::Events : public EventStream {
 public:
  using Write = std::function<bool(const std::string&)>;
  explicit Events(Write write) : write_(std::move(write)) {}
  bool send(std::string_view data) override { return put(fmt::format("data: {}\n\n", data)); }
  bool send_comment() override { return put(":\n\n"); }

 private:
  bool put(const std::string& text) { return open_ = open_ && write_(text); }

  Write write_;
  bool open_ = true;
};

/// Events in chunks; to a client of HTTP/1.0, which knows no chunks, as they are.
template <typename Stream>
asio::awaitable<bool> HttpServer::Implementation::write_events(Stream& stream,
                                                               const Parser::value_type& head,
                                                               Response& response, bool keeps) {
  const bool chunked = head.version() >= 11;
  const std::string bytes = head_of(response, head, keeps && chunked, chunked);
  const bool begun = co_await write_bytes(stream, bytes);
  if (!begun || head.method() == http::verb::head) co_return begun&& chunked;
  // The events come from another thread, which waits until each is written on this one.
  Events events([&](const std::string& text) {
    const std::string chunk =
        chunked ? beast::buffers_to_string(http::make_chunk(asio::buffer(text))) : text;
    return asio::co_spawn(io_, write_bytes(stream, chunk), asio::use_future).get();
  });
  const auto all = [&]() -> asio::awaitable<void> {
    response.events(events);
    co_return;
  };
  co_await asio::co_spawn(threads_, all, asio::use_awaitable);
  const std::string last = beast::buffers_to_string(http::make_chunk_last());
  co_return chunked&& co_await write_bytes(stream, last);
}

/// Tells the client that no more answers come, and drops what it still sends: to close at once
/// could take the last answer away from it.
template <typename Stream>
asio::awaitable<void> HttpServer::Implementation::leave(Stream& stream, Connections::Place& place) {
  error_code error;
  place.waits(Waiting::kToLeave);
  beast::get_lowest_layer(stream).expires_after(kLeave);
  if constexpr (!std::is_same_v<Stream, beast::tcp_stream>)
    co_await stream.async_shutdown(into(error));
  tcp::socket& socket = beast::get_lowest_layer(stream).socket();
  socket.shutdown(tcp::socket::shutdown_send, error);
  std::array<char, 1024> dropped;
  const auto room = asio::buffer(dropped);
  while (!error) co_await beast::get_lowest_layer(stream).async_read_some(room, into(error));
}

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
  server_->stop();
}
int64_t HttpServer::connections() const {
  return server_->connections();
}

}  // namespace tessera::serve
