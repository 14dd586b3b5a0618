#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "program/serve/access.h"
#include "program/serve/http_server.h"
#include "program/serve/service.h"

namespace tessera::serve {

struct ServerOptions {
  HttpOptions http = {};  ///< `threads` follows from `clients`
  AccessOptions access = {};
  int64_t clients = 64;         ///< most requests that are answered at once; above it 503
  int64_t clients_per_key = 0;  ///< most of one key, or of one address; above it 429; 0: no limit
  bool insecure = false;        ///< serves other machines without a key

  /// Throws UsageError where other machines would be served without a key, and on a certificate
  /// without its key.
  void check() const;
};

/// A service on the network.
class Server {
 public:
  /// An answered or refused request, as far as it could be read, once the last byte is sent: for a
  /// log.
  using OnAnswer = std::function<void(const Request& without_body, int status, double seconds)>;

  /// Opens the port. The service must outlive it. Throws UsageError as ServerOptions::check(),
  /// SystemError.
  Server(Service& service, const ServerOptions& options, OnAnswer on_answer = {});

  int port() const { return http_.port(); }
  /// Answers requests until stop(), and then the ones that have begun; then the log has a second to
  /// be written.
  void run();
  /// From any thread.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  class Answered;

  void add_refusal(const Request& request, Response& refused);
  Response answer(Request request);
  Response answer_now(const Request& request, Answered& answered) const;
  void count(const Answered& answered);

  Service& service_;
  ServerOptions options_;
  OnAnswer on_answer_;
  Access access_;
  Router router_;
  std::mutex answering_mutex_;
  std::map<std::string, int64_t> answering_;  // requests by whom they are of
  int64_t all_answering_ = 0;
  HttpServer http_;
};

}  // namespace tessera::serve
