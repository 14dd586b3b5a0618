#include "tessera/serve/server.h"

#include "tessera/base/error.h"
#include "tessera/serve/api_error.h"
#include "tessera/serve/web_files.h"

namespace tessera::serve {
namespace {

constexpr int64_t kReserve = 8;  // threads for /health and /metrics while all clients are served

bool is_always_answered(const std::string& path) {
  return path == "/health" || path == "/metrics";
}

HttpOptions http_options(const ServerOptions& options) {
  options.check();
  HttpOptions http = options.http;
  http.threads = options.clients + kReserve;
  return http;
}

}  // namespace

/// One of the requests that are answered at once, until the last byte of its answer.
class Server::Place {
 public:
  Place(Server& server, std::string asker) : server_(server), asker_(std::move(asker)) {
    const std::lock_guard lock(server_.answering_mutex_);
    number = ++server_.all_answering_;
    number_of_asker = ++server_.answering_[asker_];
  }
  ~Place() {
    const std::lock_guard lock(server_.answering_mutex_);
    --server_.all_answering_;
    const auto own = server_.answering_.find(asker_);
    if (--own->second == 0) server_.answering_.erase(own);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  int64_t number, number_of_asker;  ///< of the requests that are answered with it

 private:
  Server& server_;
  std::string asker_;
};

void ServerOptions::check() const {
  if (!is_local(http.host) && access.keys.empty() && !insecure)
    throw UsageError(
        "--host {} serves other machines, and there is no key: give --api-key-file, or --insecure "
        "if anybody may use it",
        http.host);
  if (http.tls_certificate.empty() != http.tls_key.empty())
    throw UsageError("--tls-cert and --tls-key belong together: give both or none");
}

Server::Server(Service& service, const ServerOptions& options, OnAnswer on_answer)
    : service_(service),
      options_(options),
      on_answer_(std::move(on_answer)),
      access_(options.access),
      router_(routes_of(service)),
      http_(
          http_options(options), [this](const Request& request) { return refusal(request); },
          [this](const Request& request) { return answer(request); }) {
  for (const WebFile& file : web_files()) access_.open(file.path);
}

void Server::stop() {
  service_.stopping = true;
  http_.stop();
}

std::optional<Response> Server::refusal(const Request& request) {
  const auto started = Clock::now();
  auto refused = access_.refusal(request);
  if (refused) count(request, "refused", refused->status, started);
  return refused;
}

/// The answer, counted when its last byte is written.
Response Server::answer(const Request& request) {
  const auto started = Clock::now();
  Response response = answer_now(request);
  access_.add_headers(request, response);
  if (!response.events) {
    count(request, response.route, response.status, started);
    return response;
  }
  Request asked;  // without its body
  asked.method = request.method;
  asked.path = request.path;
  asked.client = request.client;
  response.events = [this, started, asked, route = response.route, status = response.status,
                     events = std::move(response.events)](EventStream& stream) {
    events(stream);
    count(asked, route, status, started);
  };
  return response;
}

void Server::count(const Request& request, const std::string& route, int status,
                   Clock::time_point started) {
  const double seconds = std::chrono::duration<double>(Clock::now() - started).count();
  service_.metrics.count(route, status, seconds);
  if (on_answer_) on_answer_(request, status, seconds);
}

Response Server::answer_now(const Request& request) {
  if (request.method == "OPTIONS" && !request.header("Origin").empty()) {
    Response allowed;
    allowed.status = 204;
    return allowed;
  }
  if (is_always_answered(request.path)) return router_.answer(request);
  const auto place = std::make_shared<Place>(*this, request.asker());
  if (options_.clients_per_key > 0 && place->number_of_asker > options_.clients_per_key)
    return ApiError(429, "{} requests of yours are being answered; try again later",
                    options_.clients_per_key)
        .with_code("rate_limit_exceeded")
        .retry_after(1)
        .response();
  if (place->number > options_.clients)
    return ApiError(503, "{} requests are being answered; try again later (--max-clients)",
                    options_.clients)
        .with_code("overloaded")
        .retry_after(1)
        .response();
  Response response = router_.answer(request);
  if (response.events)
    response.events = [place, events = std::move(response.events)](EventStream& stream) {
      events(stream);
    };
  return response;
}

}  // namespace tessera::serve
