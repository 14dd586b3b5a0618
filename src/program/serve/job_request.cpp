#include "program/serve/job_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "program/jobs/request_values.h"
#include "program/serve/fields.h"

namespace tessera::serve {
namespace {

using config::Json;

/// The value that a text in a query or a path stands for.
Json value_of(const std::string& text, const config::Field& field) {
  return std::visit(
      [&]<typename Value>(const Value&) -> Json {
        using Texts = std::vector<std::string>;
        if constexpr (std::is_same_v<Value, Texts*>) return Json::array({text});
        if constexpr (std::is_same_v<Value, std::string*> ||
                      std::is_same_v<Value, std::optional<std::string>*> ||
                      std::is_same_v<Value, config::EnumField>)
          return text;
        const Json value = Json::parse(text, nullptr, /*allow_exceptions=*/false);
        return value.is_primitive() && !value.is_discarded() ? value : Json(text);
      },
      field.value);
}

/// What the request names; of names that no field has, the first of the body and of the query.
Json named_values(const Request& request, const std::vector<config::Field>& fields) {
  Json named = Json::object();
  const bool has_text = std::ranges::find(fields, "text", &config::Field::name) != fields.end();
  const auto take_text = [&](const std::string& name, const std::string& text) {
    const auto field = std::ranges::find(fields, name, &config::Field::name);
    named[name] = field == fields.end() ? Json(text) : value_of(text, *field);
    return field != fields.end();
  };
  if (has_text && request.header("Content-Type").starts_with("text/")) {
    take_text("text", request.body);
  } else if (!request.body.empty()) {
    named = jobs::request_values(json_body(request), fields);
  }
  for (const auto& [name, text] : request.query)
    if (name != "stream" && !take_text(name, text)) break;
  for (const auto& [name, text] : request.values)
    if (name != "store") take_text(name, text);
  return named;
}

}  // namespace

void read_fields(const Request& request, std::vector<config::Field> fields,
                 const Demands& demands) {
  for (config::Field& field : fields)
    if (const auto found = demands.find(field.name); found != demands.end())
      field.demand = found->second;
  set_fields(named_values(request, fields), fields);
}

}  // namespace tessera::serve
