#pragma once

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "program/serve/http.h"

namespace tessera::serve {

/// A request that is refused, with the HTTP status of the answer. The answer's body is OpenAI's:
///   {"error": {"message": …, "type": …, "param": …, "code": …}}
class ApiError : public std::runtime_error {
 public:
  /// A fmt format and its arguments: what was found, what was expected and how to mend it.
  template <typename... Args>
  ApiError(int status, fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)), status_(status) {}

  /// The field of the request that is wrong.
  ApiError about(std::string param) &&;
  /// A short name of the cause, for programs: "model_not_found".
  ApiError with_code(std::string code) &&;
  /// Seconds after which the client may try again.
  ApiError retry_after(int seconds) &&;

  int status() const { return status_; }
  Response response() const;
  /// {"error": {…}} on one line, for an event.
  std::string json() const;

 private:
  int status_;
  std::optional<std::string> param_, code_;
  int retry_after_ = 0;
};

/// Of an answer that is unwanted by now: its time is over, or nobody waits for it, or hears this.
ApiError given_up();

/// What became of a request that was not answered because of this exception: an unknown document is
/// status 404, another mistake of the caller's (UsageError) 400; anything else is 500, with a
/// number under which the log says what happened.
ApiError as_api_error(const std::exception_ptr& error);

}  // namespace tessera::serve
