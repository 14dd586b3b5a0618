#pragma once

#include <ctime>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "program/serve/http_server.h"
#include "tests/program/serve/raw_client.h"

namespace tessera::serve {

/// An HttpServer of any free port, in a thread; notes every request that its handler gets.
class Listening {
 public:
  explicit Listening(Handler handler = {}, HttpOptions options = {}, HttpServer::Guard guard = {})
      : handler_(std::move(handler)),
        server(
            any_port(options), guard ? guard : [](const Request&) { return std::nullopt; },
            [this](const Request& request) { return answer(request); }),
        thread_([this] { server.run(); }) {}
  ~Listening() {
    server.stop();
    thread_.join();
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  int port() const { return server.port(); }
  /// The answer to one request, on a connection of its own.
  Answer ask(std::string_view bytes) { return RawClient(port(), bytes).answer(); }
  /// "METHOD path body" of each request so far.
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  static HttpOptions any_port(HttpOptions options) {
    options.port = 0;
    return options;
  }
  Response answer(const Request& request) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request.method + " " + request.path + " " + request.body);
    }
    if (handler_) return handler_(request);
    return {.body = "answer to " + request.path};
  }

  Handler handler_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;

 public:
  HttpServer server;

 private:
  std::thread thread_;
};

/// CPU seconds of this process so far.
inline double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace tessera::serve
