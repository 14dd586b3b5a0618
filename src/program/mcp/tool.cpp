#include "program/mcp/tool.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <type_traits>
#include <variant>

namespace tessera::mcp {
namespace {

using config::Json;

/// The schema of a value of a field's type.
template <typename Value>
Json type_of(const config::Demand& demand) {
  if constexpr (requires { typename Value::traits_type; }) {
    return {{"type", "string"}};
  } else if constexpr (requires(Value value) { value.push_back({}); }) {
    return {{"type", "array"}, {"items", type_of<typename Value::value_type>(demand)}};
  } else if constexpr (requires(Value value) { value.has_value(); }) {
    return type_of<typename Value::value_type>(demand);
  } else if constexpr (std::same_as<Value, bool>) {
    return {{"type", "boolean"}};
  } else {
    using Bound = std::conditional_t<std::integral<Value>, int64_t, double>;
    const double least = std::unsigned_integral<Value> ? std::max(0.0, demand.least) : demand.least;
    Json schema = {{"type", std::integral<Value> ? "integer" : "number"}};
    if (std::isfinite(least))
      schema[demand.above_least ? "exclusiveMinimum" : "minimum"] = static_cast<Bound>(least);
    if (std::isfinite(demand.most))
      schema[demand.below_most ? "exclusiveMaximum" : "maximum"] = static_cast<Bound>(demand.most);
    return schema;
  }
}

Json type_of(const config::Field& field) {
  return std::visit(
      [&]<typename Value>(const Value& value) -> Json {
        if constexpr (std::same_as<Value, config::EnumField>)
          return {{"type", "string"},
                  {"enum", std::vector(value.names.begin(), value.names.end())}};
        else if constexpr (std::same_as<Value, std::vector<config::Field>>)
          return schema_of(value);
        else
          return type_of<std::remove_pointer_t<Value>>(field.demand);
      },
      field.value);
}

}  // namespace

Json schema_of(const std::vector<config::Field>& fields) {
  const Json defaults = config::fields_to_json(fields);
  Json properties = Json::object(), required = Json::array();
  for (const config::Field& field : fields) {
    const std::string name(field.name);
    Json property = type_of(field);
    property["description"] = field.help;
    if (field.demand.required)
      required.push_back(name);
    else if (!defaults[name].is_null())
      property["default"] = defaults[name];
    properties[name] = std::move(property);
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

/// What edits may replace or forget a document; done twice, it changes nothing more.
Json json_of(const Tool& tool) {
  const bool edits = tool.effect == Effect::kEdits;
  return {{"name", tool.name},
          {"description", tool.help},
          {"inputSchema", tool.schema},
          {"annotations",
           {{"readOnlyHint", !edits},
            {"destructiveHint", edits},
            {"idempotentHint", true},
            {"openWorldHint", false}}}};
}

}  // namespace tessera::mcp
