#include "program/serve/http.h"

#include <algorithm>
#include <cctype>

namespace tessera::serve {
namespace {

int hexadecimal(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const int letter = std::tolower(static_cast<unsigned char>(digit));
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

}  // namespace

bool HeaderOrder::operator()(std::string_view a, std::string_view b) const {
  return std::lexicographical_compare(
      a.begin(), a.end(), b.begin(), b.end(),
      [](unsigned char x, unsigned char y) { return std::tolower(x) < std::tolower(y); });
}

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
  const auto found = query.find(name);
  return found == query.end() ? otherwise : found->second;
}

Response Response::of_events(std::function<void(EventStream&)> events) {
  return {.content_type = "text/event-stream",
          .headers = {{"Cache-Control", "no-cache"}},
          .events = std::move(events)};
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hexadecimal(text[i + 1]) : -1;
    const int low = high >= 0 ? hexadecimal(text[i + 2]) : -1;
    if (low < 0) {
      result += text[i];
      continue;
    }
    result += static_cast<char>(16 * high + low);
    i += 2;
  }
  return result;
}

}  // namespace tessera::serve
