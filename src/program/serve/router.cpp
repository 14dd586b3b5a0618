#include "program/serve/router.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "program/serve/api_error.h"

namespace tessera::serve {
namespace {

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  for (size_t start = 0; start < path.size();) {
    const size_t end = std::min(path.find('/', start + 1), path.size());
    parts.emplace_back(path.substr(start + 1, end - start - 1));
    start = end;
  }
  return parts;
}

/// The values of the pattern's placeholders, if the path is of this pattern.
std::optional<std::map<std::string, std::string>> matched(const std::vector<std::string>& pattern,
                                                          const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  std::map<std::string, std::string> values;
  for (size_t i = 0; i < path.size(); ++i) {
    if (!pattern[i].starts_with('{')) {
      if (pattern[i] != path[i]) return std::nullopt;
      continue;
    }
    if (path[i].empty()) return std::nullopt;
    values[pattern[i].substr(1, pattern[i].size() - 2)] = percent_decoded(path[i]);
  }
  return values;
}

}  // namespace

void Router::add(const std::string& method, const std::string& pattern, Handler handler) {
  routes_.push_back({method, pattern, parts_of(pattern), std::move(handler)});
}

Response Router::answer(Request request) const {
  std::string route = "none";
  Response response;
  try {
    response = answer(request, route);
  } catch (...) {
    response = as_api_error(std::current_exception()).response();
  }
  response.route = route;
  return response;
}

Response Router::answer(Request& request, std::string& route) const {
  const std::vector<std::string> path = parts_of(request.path);
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::set<std::string> methods;
  for (const Route& known : routes_) {
    const auto values = matched(known.parts, path);
    if (!values) continue;
    methods.insert(known.method);
    if (known.method != method) continue;
    request.values = *values;
    route = known.pattern;
    return known.handler(request);
  }
  if (methods.empty()) {
    // A client whose base address lacks it.
    const std::string versioned = "/v1" + request.path;
    const bool lacks_version =
        std::ranges::any_of(routes_, [path = parts_of(versioned)](const Route& known) {
          return matched(known.parts, path).has_value();
        });
    throw ApiError(404, "there is nothing at {} {}; {}", request.method, request.path,
                   lacks_version ? fmt::format("did you mean {}?", versioned)
                                 : "docs/server.md lists what there is")
        .with_code("unknown_url");
  }
  const std::string allowed = fmt::format("{}", fmt::join(methods, ", "));
  Response refused =
      ApiError(405, "{} does not take {}, expected {}", request.path, request.method, allowed)
          .with_code("method_not_allowed")
          .response();
  refused.headers.emplace_back("Allow", allowed);
  return refused;
}

}  // namespace tessera::serve
