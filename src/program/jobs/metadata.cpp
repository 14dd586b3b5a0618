#include "program/jobs/metadata.h"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera::jobs {

store::Metadata parse_metadata(const std::string& field, const std::vector<std::string>& texts) {
  store::Metadata metadata;
  for (const auto& text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || !utf8::is_printable(text))
      throw UsageError("{} is '{}', expected KEY=VALUE, such as author=Austen", field,
                       utf8::printable_line(text));
    const std::string key = text.substr(0, equals);
    if (!metadata.emplace(key, text.substr(equals + 1)).second)
      throw UsageError("{} gives '{}' twice", field, key);
  }
  return metadata;
}

int64_t parse_day(const std::string& field, const std::string& day) {
  std::tm parts{};
  char rest;
  const int found = std::sscanf(day.c_str(), "%4d-%2d-%2d%c", &parts.tm_year, &parts.tm_mon,
                                &parts.tm_mday, &rest);
  std::tm normal = parts;
  normal.tm_year -= 1900;
  normal.tm_mon -= 1;
  const int64_t seconds = ::timegm(&normal);
  if (found != 3 || normal.tm_mon + 1 != parts.tm_mon || normal.tm_mday != parts.tm_mday)
    throw UsageError("{} is '{}', expected a day such as 2026-03-01", field, day);
  return seconds;
}

}  // namespace tessera::jobs
