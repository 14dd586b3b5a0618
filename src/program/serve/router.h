#pragma once

#include <string>
#include <vector>

#include "program/serve/http.h"

namespace tessera::serve {

/// Which function answers which method and path.
class Router {
 public:
  /// pattern: a path whose parts in braces stand for any one part that is not empty:
  /// "/v1/stores/{store}/documents/{id}". Their decoded values come as Request::values.
  void add(const std::string& method, const std::string& pattern, Handler handler);

  /// The handler's answer; HEAD is answered as GET. Whatever the handler throws becomes an answer,
  /// too (as_api_error); an unknown path is 404, another method of a known one 405. Sets
  /// Response::route.
  Response answer(Request request) const;

 private:
  struct Route {
    std::string method, pattern;
    std::vector<std::string> parts;
    Handler handler;
  };
  Response answer(Request& request, std::string& route) const;

  std::vector<Route> routes_;
};

}  // namespace tessera::serve
