#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "program/serve/server.h"
#include "tests/program/serve/raw_client.h"
#include "tests/program/serve/tiny_service.h"

namespace tessera::serve {

/// A server of a service at any free port, in a thread.
class ServerInThread {
 public:
  ServerInThread(Service& service, ServerOptions options, Server::OnAnswer on_answer = {}) {
    options.http.port = 0;
    server_.emplace(service, options, std::move(on_answer));
    port_ = server_->port();
    thread_ = std::thread([this] { server_->run(); });
  }
  ~ServerInThread() { stop(); }
  /// Also closes the port.
  void stop() {
    if (!server_) return;
    server_->stop();
    thread_.join();
    server_.reset();
  }
  int port() const { return port_; }

 private:
  std::optional<Server> server_;
  int port_ = 0;
  std::thread thread_;
};

/// A server of a tiny service.
class Running {
 public:
  explicit Running(const ServerOptions& options = {}, const EngineOptions& engine = {},
                   Server::OnAnswer on_answer = {})
      : tiny(engine), server_(tiny.service, options, std::move(on_answer)) {}
  void stop() { server_.stop(); }
  int port() const { return server_.port(); }
  /// The answer to one request, on a connection of its own.
  Answer ask(std::string_view bytes) const { return RawClient(port(), bytes).answer(); }
  const EngineCounts& counts() { return tiny.service.models.find("mosaic")->engine->counts(); }

  TinyService tiny;

 private:
  ServerInThread server_;
};

/// Whether it becomes true within a minute or more, which only ends a test that hangs.
template <typename Condition>
bool soon(Condition&& condition) {
  for (int i = 0; i < 6000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

/// Whether the server soon has counted so many requests of a route and a status.
inline bool has_counted(const Running& running, const std::string& route, int status,
                        int count = 1) {
  const std::string line = fmt::format("tessera_requests_total{{route=\"{}\",status=\"{}\"}} {}\n",
                                       route, status, count);
  return soon([&] { return running.tiny.service.metrics.text().find(line) != std::string::npos; });
}

}  // namespace tessera::serve
