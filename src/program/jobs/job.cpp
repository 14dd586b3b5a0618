#include "program/jobs/job.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"

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

std::string json_line(const config::Json& json) {
  return json.dump(-1, ' ', false, config::Json::error_handler_t::replace);
}

}  // namespace tessera::jobs
