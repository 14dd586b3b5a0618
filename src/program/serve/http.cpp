#include "program/serve/http.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace tessera::serve {

void Request::set_target(std::string_view target) {
  target = target.substr(0, target.find('#'));
  if (const size_t host = target.find("://"); !target.starts_with('/') && host != target.npos)
    target.remove_prefix(std::min(target.find('/', host + 3), target.size()));
  const size_t end = std::min(target.find('?'), target.size());
  path = target.substr(0, end);
  for (std::string_view rest = target.substr(end); !rest.empty();) {
    rest.remove_prefix(1);  // ? or &
    std::string pair(rest.substr(0, rest.find('&')));
    rest.remove_prefix(pair.size());
    std::replace(pair.begin(), pair.end(), '+', ' ');
    const size_t equals = std::min(pair.find('='), pair.size());
    if (pair.empty()) continue;
    query.emplace(percent_decoded(pair.substr(0, equals)),
                  equals < pair.size() ? percent_decoded(pair.substr(equals + 1)) : "");
  }
}

std::string Request::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::string Request::parameter(const std::string& name, const std::string& otherwise) const {
  const auto found = query.lower_bound(name);  // the first that was sent
  return found == query.end() || found->first != name ? otherwise : found->second;
}

Response Response::of_events(std::function<void(EventStream&)> events) {
  return {.content_type = "text/event-stream",
          .headers = {{"Cache-Control", "no-cache"}},
          .events = std::move(events)};
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const char* const digits = text.data() + i + 1;
    uint8_t byte = 0;
    const bool is_encoded = text[i] == '%' && i + 2 < text.size() &&
                            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    result += is_encoded ? static_cast<char>(byte) : text[i];
    if (is_encoded) i += 2;
  }
  return result;
}

}  // namespace tessera::serve
