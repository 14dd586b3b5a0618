#include "program/jobs/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/store/store_folder.h"

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

namespace {

/// The folders above a file, the nearest first; of those that are not there yet, the names.
std::vector<std::filesystem::path> folders_above(const std::filesystem::path& file) {
  std::filesystem::path path = std::filesystem::absolute(file);
  if (!path.has_filename()) path = path.parent_path();  // "store/texts/" is "store/texts"
  std::error_code unknown;
  path = std::filesystem::weakly_canonical(path.parent_path(), unknown);
  std::vector<std::filesystem::path> folders = {path};
  for (; path.has_relative_path(); folders.push_back(path)) path = path.parent_path();
  return folders;
}

}  // namespace

void check_outside(const std::filesystem::path& store, std::string_view field,
                   const std::filesystem::path& file) {
  std::error_code not_there;
  for (const auto& folder : folders_above(file))
    if (std::filesystem::equivalent(folder, store, not_there))
      throw UsageError(
          "{} is '{}', which would stand in {}, among the store's own files; put it elsewhere",
          field, file.native(), store.native());
}

void check_outside_stores(const std::filesystem::path& file) {
  for (const auto& folder : folders_above(file))
    if (store::StoreFolder::is_at(folder)) check_outside(folder, "store", file);
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
