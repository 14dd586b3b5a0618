#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "program/jobs/job.h"
#include "tessera/base/config.h"

namespace tessera::mcp {

/// What a tool does to the store, as its annotations tell it.
enum class Effect { kNone, kEdits };

/// A job that an assistant may ask for.
struct Tool {
  std::string_view name = {}, help = {};
  std::string_view doing = {};  ///< what its progress is called
  Effect effect = Effect::kNone;
  config::Json schema = {};  ///< of its arguments
  /// Does the work and returns the answer. Throws UsageError on arguments that make no sense,
  /// Interrupted where on_progress does, and whatever else the job throws.
  std::function<config::Json(const nlohmann::json& arguments, const OnProgress& on_progress)> call =
      {};
};

/// The fields of a request as a JSON Schema (2020-12): their types, bounds, defaults and help.
config::Json schema_of(const std::vector<config::Field>& fields);

/// The tool as tools/list names it.
config::Json json_of(const Tool& tool);

}  // namespace tessera::mcp
