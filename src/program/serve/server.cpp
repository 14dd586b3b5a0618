#include "program/serve/server.h"

#include "program/serve/api_error.h"
#include "program/serve/log.h"
#include "program/web/web_files.h"
#include "tessera/base/error.h"

namespace tessera::serve {
namespace {

constexpr int64_t kReserve = 8;   // threads for /health and /metrics while all clients are served
constexpr int kClientLeft = 499;  // status that is counted, of an answer that nobody waits for

HttpOptions http_options(const ServerOptions& options) {
  options.check();
  HttpOptions http = options.http;
  http.threads = options.clients + kFollowers + kReserve;
  return http;
}

Response too_large(size_t bytes, int64_t limit) {
  return ApiError(413, "the answer has {:.1f} MB, expected at most {:.1f} (--max-answer)",
                  static_cast<double>(bytes) / 1e6, static_cast<double>(limit) / 1e6)
      .response();
}

}  // namespace

/// A request that is being answered, until the last byte of its answer is sent; then it is counted.
class Server::Answered {
 public:
  explicit Answered(Server& server, const Request& asked) : server_(server) {
    request.method = asked.method;
    request.path = asked.path;
    request.client = asked.client;
    request.asker = asked.asker;
  }
  ~Answered() {
    leave_place();
    server_.count(*this);
  }
  Answered(const Answered&) = delete;
  Answered& operator=(const Answered&) = delete;

  /// Takes a place among the requests that are answered at once; the refusal where there is none. A
  /// refused request takes none, however long its client needs to receive that.
  std::optional<Response> take_place() {
    const int64_t of_asker = server_.options_.clients_per_key, all = server_.options_.clients;
    const std::lock_guard lock(server_.answering_mutex_);
    const auto own = server_.answering_.find(request.asker);
    if (of_asker > 0 && own != server_.answering_.end() && own->second >= of_asker)
      return ApiError(429, "{} requests of yours are being answered; try again later", of_asker)
          .with_code("rate_limit_exceeded")
          .retry_after(1)
          .response();
    if (server_.all_answering_ >= all)
      return ApiError(503, "{} requests are being answered; try again later (--max-clients)", all)
          .with_code("overloaded")
          .retry_after(1)
          .response();
    ++server_.answering_[request.asker];  // may find no memory
    ++server_.all_answering_;
    has_place_ = true;
    return std::nullopt;
  }
  void leave_place() {
    const std::lock_guard lock(server_.answering_mutex_);
    if (!std::exchange(has_place_, false)) return;
    --server_.all_answering_;
    const auto own = server_.answering_.find(request.asker);
    if (--own->second == 0) server_.answering_.erase(own);
  }

  Request request;  ///< without its headers and its body
  std::string route = "refused";
  int status = 0;
  Clock::time_point started = Clock::now();

 private:
  Server& server_;
  bool has_place_ = false;
};

void ServerOptions::check() const {
  if (!is_local(http.host) && access.keys.empty() && !insecure)
    throw UsageError(
        "--host {} serves other machines, and there is no key: give --api-key-file, or --insecure "
        "if anybody may use it",
        http.host);
  if (!access.origin.empty() && !is_origin(access.origin))
    throw UsageError(
        "--cors is '{}', expected the origin of pages, as browsers send it: https://page.example "
        "or http://localhost:3000",
        access.origin);
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
          http_options(options),
          [this](const Request& request) { return access_.refusal(request); },
          [this](Request request) { return answer(std::move(request)); },
          [this](const Request& request, Response& refused) { add_refusal(request, refused); }) {
  for (const web::WebFile& file : web::web_files()) access_.open(file.path);
}

void Server::run() {
  const std::shared_ptr<void> at_the_end(nullptr, [](void*) { finish_log(); });
  http_.run();
}

void Server::stop() {
  service_.stopping = true;
  http_.stop();
}

/// Completes the answer to a request that no route gets to see, and counts it.
void Server::add_refusal(const Request& request, Response& refused) {
  access_.add_headers(request, refused);
  const auto answered = std::make_shared<Answered>(*this, request);
  answered->status = refused.status;
  refused.until_sent = answered;
}

Response Server::answer(Request request) {
  request.asker = access_.asker_of(request);
  const auto answered = std::make_shared<Answered>(*this, request);
  Response response = answer_now(request, *answered);
  if (!response.route.empty()) answered->route = response.route;
  if (std::ssize(response.body) > service_.limits.answer_bytes)
    response = too_large(response.body.size(), service_.limits.answer_bytes);
  if (response.follows) answered->leave_place();
  access_.add_headers(request, response);
  answered->status = request.hung_up() ? kClientLeft : response.status;
  response.until_sent = answered;
  return response;
}

void Server::count(const Answered& answered) {
  const double seconds = std::chrono::duration<double>(Clock::now() - answered.started).count();
  try {
    service_.metrics.count(answered.route, answered.status, seconds);
    if (on_answer_) on_answer_(answered.request, answered.status, seconds);
  } catch (...) {  // a log that fails changes no answer
  }
}

Response Server::answer_now(const Request& request, Answered& answered) const {
  if (is_preflight(request)) return {.status = 204, .route = "none"};
  // What needs no key takes no place from those who have one.
  if (access_.is_open(request) || request.path == "/metrics") return router_.answer(request);
  if (auto refused = answered.take_place()) return *std::move(refused);
  return router_.answer(request);
}

}  // namespace tessera::serve
