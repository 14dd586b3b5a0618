#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "program/serve/http.h"

namespace tessera::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int32_t port = 8080;              ///< 0: any that is free
  int64_t threads = 72;             ///< that answer requests, one each; further requests wait
  int64_t body_bytes = 1 << 24;     ///< limit of a request's body; above it 413
  double read_seconds = 20;         ///< for a whole request, from its first byte to its last
  double idle_seconds = 30;         ///< for the first byte of the next request of a connection
  double write_seconds = 20;        ///< for a client to take in each 64 KB of an answer
  double half_closed_seconds = 10;  ///< of work for a client that has closed its sending side
  /// Files in PEM: the certificate, with those between it and the authority, and its key; both
  /// empty for HTTP without encryption.
  std::string tls_certificate = {}, tls_key = {};
};

/// An HTTP/1.1 server (Boost.Beast): one thread reads and writes on all connections, and hands each
/// request that has arrived whole to one of the threads that answer.
///
/// Neither idle nor slow clients can hold it up: they cost a socket and what they have sent. Where
/// there are more connections than this process may have sockets, or where requests that are still
/// arriving hold more than sixteen bodies of the largest size, the one that has waited longest is
/// closed.
class HttpServer {
 public:
  /// Looks at a request before its body is read: an answer refuses it.
  using Guard = std::function<std::optional<Response>(const Request&)>;
  /// Answers a request with its body.
  using Answer = std::function<Response(Request)>;
  /// Told of each request that the guard or the server itself refuses, as far as it could be read,
  /// with the answer, to which it may add. Two answers are sent to nobody: 408 of a request that
  /// did not arrive in time, and 503 of one that was closed.
  using OnRefusal = std::function<void(const Request&, Response&)>;

  /// Opens the port. Throws SystemError where it cannot be had ("127.0.0.1:8080: is in use") and
  /// DataError where the certificate or its key cannot be used.
  HttpServer(
      const HttpOptions& options, Guard guard, Answer answer,
      OnRefusal on_refusal = [](const Request&, Response&) {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;
  /// Serves until stop(); returns when the requests that had begun by then are answered.
  void run();
  /// No new connections from now on, and no new requests on those there are. From any thread, also
  /// before run().
  void stop();
  /// Connections that are open now.
  int64_t connections() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> server_;
};

}  // namespace tessera::serve
