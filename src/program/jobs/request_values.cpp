#include "program/jobs/request_values.h"

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

}  // namespace tessera::jobs
