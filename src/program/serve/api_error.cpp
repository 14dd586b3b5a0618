#include "program/serve/api_error.h"

#include <nlohmann/json.hpp>

#include "program/jobs/job.h"
#include "tessera/base/config.h"

namespace tessera::serve {
namespace {

std::string type_of(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 409:
      return "conflict_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "service_unavailable_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
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
