#include "program/serve/service.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "program/serve/api_error.h"
#include "program/web/web_files.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"

namespace tessera::serve {

using config::Json;

namespace {

/// The page runs its own files alone and speaks to its own server alone.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

Response page_file(const web::WebFile& file) {
  return {.content_type = file.content_type,
          .body = std::string(file.content),
          .headers = {{"Content-Security-Policy", kPolicy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}}};
}

/// The files of the page, in src/program/web.
void add_page_routes(Router& router) {
  for (const web::WebFile& file : web::web_files())
    router.add("GET", file.path, [&file](const Request&) { return page_file(file); });
}

}  // namespace

Router routes_of(Service& service) {
  Router router;
  add_status_routes(router, service);
  add_completion_routes(router, service);
  add_tokenizer_routes(router, service);
  add_store_routes(router, service);
  add_part_routes(router, service);
  add_inspect_route(router, service);
  add_run_routes(router, service);
  add_plan_route(router, service);
  add_page_routes(router);
  return router;
}

ServedHosts::ServedHosts(std::vector<std::string> addresses, const hosts::HostOptions& options)
    : addresses_(std::move(addresses)), stores_(addresses_, options) {}

nlohmann::ordered_json ServedHosts::recall(const std::string& prompt,
                                           const store::RecallOptions& options,
                                           const Unwanted& unwanted) {
  std::unique_lock turn(asking_, std::defer_lock);
  if (!wait_for_turn(turn, unwanted)) throw given_up();
  try {
    return hosts::json_of(stores_, prompt, hosts::recall(stores_, prompt, options, unwanted));
  } catch (const Interrupted&) {
    throw given_up();
  } catch (const hosts::NoHostAnswers& error) {
    throw ApiError(503, "{}", error.what()).with_code("no_host_answers").retry_after(10);
  }
}

void add_model_route(Router& router, const std::string& method, const std::string& pattern,
                     const Handler& handler) {
  router.add(method, pattern, handler);
  router.add(method, "/models/{model}" + pattern, handler);
}

std::string asked_model(const Request& request, const std::string& named) {
  const auto address = request.values.find("model");
  if (address == request.values.end()) return named;
  if (!named.empty() && named != address->second)
    throw ApiError(400, "'model' is '{}', but the address is that of '{}'", named, address->second)
        .about("model");
  return address->second;
}

Response json_response(const Json& json, int status) {
  return {.status = status, .body = json_line(json)};
}

int64_t unix_seconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

Unwanted Service::unwanted(std::function<bool()> hung_up) const {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double>(limits.request_seconds));
  return [end, hung_up = std::move(hung_up)] {
    return std::chrono::steady_clock::now() > end || hung_up();
  };
}

void Service::check_tokens(double tokens, const std::string& field) const {
  if (tokens <= static_cast<double>(limits.tokens_per_request)) return;
  throw ApiError(413,
                 "the request's texts have {:.0f} tokens, expected at most {} in all "
                 "(--max-tokens-per-request)",
                 tokens, limits.tokens_per_request)
      .about(field);
}

void Service::check_answer(double bytes, std::string_view fewer) const {
  const double most = limits.answer_bytes;
  if (bytes <= most) return;
  throw ApiError(413,
                 "the answer may have {:.1f} MB, expected at most {:.1f} (--max-answer); ask for "
                 "fewer {}",
                 bytes / 1e6, most / 1e6, fewer);
}

}  // namespace tessera::serve
