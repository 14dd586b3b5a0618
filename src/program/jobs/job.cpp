#include "program/jobs/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"

namespace tessera::jobs {

config::Json request_values(const nlohmann::json& object,
                            const std::vector<config::Field>& fields) {
  config::Json values = config::Json::object();
  for (const auto& [name, value] : object.items()) {
    const bool known = std::ranges::find(fields, name, &config::Field::name) != fields.end();
    if (!value.is_null() || !known) values[name] = value;
    if (!known) break;
  }
  return values;
}

void check_outside(const std::filesystem::path& store, std::string_view field,
                   const std::filesystem::path& file) {
  std::filesystem::path path = std::filesystem::absolute(file);
  if (!path.has_filename()) path = path.parent_path();  // "store/texts/" is "store/texts"
  std::error_code not_there;
  if (std::filesystem::equivalent(path.parent_path(), store, not_there))
    throw UsageError("{} is '{}', which would stand among the store's own files; put it elsewhere",
                     field, file.native());
}

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
  using namespace std::chrono;
  int parts[3] = {};
  std::sscanf(day.c_str(), "%4d-%2d-%2d", &parts[0], &parts[1], &parts[2]);
  const auto date = year(parts[0]) / parts[1] / parts[2];
  if (!date.ok() || fmt::format("{:04}-{:02}-{:02}", parts[0], parts[1], parts[2]) != day)
    throw UsageError("{} is '{}', expected a day such as 2026-03-01", field, day);
  return sys_seconds(sys_days(date)).time_since_epoch().count();
}

std::string json_line(const config::Json& json) {
  return json.dump(-1, ' ', false, config::Json::error_handler_t::replace);
}

}  // namespace tessera::jobs
