#include "tessera/serve/api_error.h"

#include <c10/util/Exception.h>

#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/error.h"

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
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Response ApiError::response() const {
  Response response;
  response.status = status_;
  response.body = json();
  if (retry_after_ > 0) response.headers.emplace_back("Retry-After", std::to_string(retry_after_));
  if (status_ == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

ApiError as_api_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ApiError& known) {
    return known;
  } catch (const UsageError& mistake) {
    return ApiError(400, "{}", mistake.what());
  } catch (const std::invalid_argument& mistake) {
    return ApiError(400, "{}", mistake.what());
  } catch (const c10::ValueError& mistake) {
    return ApiError(400, "{}", mistake.what_without_backtrace());
  } catch (const c10::Error& failure) {
    return ApiError(500, "{}", failure.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return ApiError(503, "out of memory").with_code("out_of_memory").retry_after(1);
  } catch (const std::exception& failure) {
    return ApiError(500, "{}", failure.what());
  }
}

}  // namespace tessera::serve
