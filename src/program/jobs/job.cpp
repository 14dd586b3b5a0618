#include "program/jobs/job.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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

std::string json_line(const config::Json& json) {
  return json.dump(-1, ' ', false, config::Json::error_handler_t::replace);
}

}  // namespace tessera::jobs
