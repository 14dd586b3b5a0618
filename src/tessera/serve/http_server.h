#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tessera/serve/http.h"

namespace tessera::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int32_t port = 8080;           ///< 0: any that is free
  int64_t clients = 72;          ///< requests that are answered at once, a thread each
  int64_t body_bytes = 1 << 24;  ///< most bytes of a request's body; above it 413
  double read_seconds = 20;      ///< for a whole request, from its first byte to its last
  double idle_seconds = 30;      ///< for the first byte of the next request of a connection
  double write_seconds = 20;     ///< for a client to take in what was sent
  /// Files in PEM (Tls); both empty for HTTP without encryption.
  std::string tls_certificate, tls_key;
};

/// An HTTP/1.1 server (cpp-httplib): one thread for each request that is answered, by `handler`.
///
/// Neither idle nor slow clients can hold it up: one thread (Poller) waits for requests on all
/// connections until they are complete, for which each has read_seconds, however its bytes trickle
/// in.
class HttpServer {
 public:
  /// Looks at a request before its body is read: an answer refuses it.
  using Guard = std::function<std::optional<Response>(const Request&)>;

  /// Opens the port. Throws SystemError where it cannot be had, and as Tls.
  HttpServer(const HttpOptions& options, Guard guard, Handler handler);
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
