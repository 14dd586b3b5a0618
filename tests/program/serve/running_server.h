#pragma once

#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "program/serve/server.h"
#include "tests/program/serve/raw_client.h"
#include "tests/program/serve/tiny_service.h"

namespace tessera::serve {

/// A server of a tiny service, in a thread.
class Running {
 public:
  explicit Running(ServerOptions options = {}, const EngineOptions& engine = {},
                   Server::OnAnswer on_answer = {})
      : tiny(engine),
        server(tiny.service, any_port(options), std::move(on_answer)),
        thread([this] { server.run(); }) {}
  ~Running() { stop(); }
  void stop() {
    server.stop();
    if (thread.joinable()) thread.join();
  }
  int port() const { return server.port(); }
  /// The answer to one request, on a connection of its own.
  Answer ask(std::string_view bytes) const { return RawClient(port(), bytes).answer(); }
  const EngineCounts& counts() { return tiny.service.models.find("mosaic")->engine->counts(); }

  TinyService tiny;
  Server server;
  std::thread thread;

 private:
  static ServerOptions any_port(ServerOptions options) {
    options.http.port = 0;
    return options;
  }
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
