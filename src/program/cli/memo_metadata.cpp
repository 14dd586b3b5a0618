#include "program/cli/memo_metadata.h"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "tessera/base/error.h"
#include "tessera/data/utf8.h"

namespace tessera::cli {

store::Metadata parse_metadata(const std::vector<std::string>& options) {
  store::Metadata metadata;
  for (const auto& option : options) {
    const size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos || !utf8::is_printable(option))
      throw UsageError("--meta is '{}', expected KEY=VALUE, such as author=Austen",
                       utf8::printable_line(option));
    const std::string key = option.substr(0, equals);
    if (!metadata.emplace(key, option.substr(equals + 1)).second)
      throw UsageError("--meta gives '{}' twice", key);
  }
  return metadata;
}

std::string readable_time(int64_t seconds) {
  if (seconds == 0) return "-";
  std::tm parts{};
  const std::time_t time = seconds;
  ::gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

int64_t parse_day(const std::string& option, const std::string& day) {
  std::tm parts{};
  char rest;
  const int found = std::sscanf(day.c_str(), "%4d-%2d-%2d%c", &parts.tm_year, &parts.tm_mon,
                                &parts.tm_mday, &rest);
  std::tm normal = parts;
  normal.tm_year -= 1900;
  normal.tm_mon -= 1;
  const int64_t seconds = ::timegm(&normal);
  if (found != 3 || normal.tm_mon + 1 != parts.tm_mon || normal.tm_mday != parts.tm_mday)
    throw UsageError("{} is '{}', expected a day such as 2026-03-01", option, day);
  return seconds;
}

}  // namespace tessera::cli
