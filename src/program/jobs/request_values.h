#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tessera/base/config.h"

namespace tessera::jobs {

/// What config::fields_from_json() is to read of a request from outside: the values of these
/// fields, where null counts as absent, and the first of its keys that are none.
config::Json request_values(const nlohmann::json& object, const std::vector<config::Field>& fields);

}  // namespace tessera::jobs
