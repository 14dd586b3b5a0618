#include "program/serve/api_error.h"

#include <map>
#include <nlohmann/json.hpp>

#include "program/jobs/job.h"
#include "tessera/base/config.h"

namespace tessera::serve {
namespace {

std::string type_of(int status) {
  static const std::map<int, std::string> kTypes = {
      {401, "authentication_error"}, {403, "permission_error"}, {404, "not_found_error"},
      {409, "conflict_error"},       {429, "rate_limit_error"}, {503, "service_unavailable_error"}};
  if (const auto known = kTypes.find(status); known != kTypes.end()) return known->second;
  return status >= 500 ? "server_error" : "invalid_request_error";
}

}  // namespace

ApiError ApiError::about(std::string param) && {
  param_ = std::move(param);
  return std::move(*this);
}

ApiError ApiError::with_code(std::string code) && {
  code_ = std::move(code);
  return std::move(*this);
}

ApiError ApiError::retry_after(int seconds) && {
  retry_after_ = seconds;
  return std::move(*this);
}

std::string ApiError::json() const {
  using config::Json;
  const auto or_null = [](const std::optional<std::string>& text) {
    return text ? Json(*text) : Json(nullptr);
  };
  const Json json = {{"error",
                      {{"message", what()},
                       {"type", type_of(status_)},
                       {"param", or_null(param_)},
                       {"code", or_null(code_)}}}};
  return jobs::json_line(json);
}

Response ApiError::response() const {
  Response response{.status = status_, .body = json()};
  if (retry_after_ > 0) response.headers.emplace_back("Retry-After", std::to_string(retry_after_));
  if (status_ == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

ApiError given_up() {
  return ApiError(503,
                  "the answer was not there in time; tessera serve --request-seconds allows more")
      .with_code("timeout");
}

}  // namespace tessera::serve
