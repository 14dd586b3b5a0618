#include "program/serve/fields.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "program/jobs/job.h"
#include "program/serve/api_error.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"

namespace tessera::serve {
namespace {

using config::Json;
using nlohmann::json;

/// What a body is, in small letters and without parameters: "text/plain".
std::string media_type(const Request& request) {
  std::string type = request.header("Content-Type");
  type = type.substr(0, type.find_first_of("; \t"));
  for (char& letter : type)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return type;
}

bool is_json(const std::string& type) {
  return type == "application/json" ||
         (type.starts_with("application/") && type.ends_with("+json"));
}

/// Sets the fields that `named` names. Throws ApiError 400 that names a field which is unknown,
/// missing, of the wrong type or out of bounds.
void set_fields(const Json& named, const std::vector<config::Field>& fields) {
  try {
    config::fields_from_json(named, fields, "");
  } catch (const config::FieldError& error) {
    throw ApiError(400, "{}", error.what()).about(error.path());
  }
}

}  // namespace

json json_body(const Request& request) {
  if (!is_json(media_type(request)))
    throw ApiError(415, "the Content-Type is '{}', expected application/json",
                   request.header("Content-Type"));
  json body;
  try {
    body = config::parse_sorted_json(request.body, "the request's body");
  } catch (const DataError& error) {
    throw ApiError(400, "{}", error.what()).with_code("invalid_json");
  }
  if (!body.is_object())
    throw ApiError(400, "the request's body is {}, expected a JSON object", config::shown(body));
  return body;
}

Fields::Fields(const json& object, const std::string& name) : object_(object) {
  if (!object.is_object())
    throw ApiError(400, "'{}' is {}, expected a JSON object", name, config::shown(object))
        .about(name);
}

void Fields::refuse(const std::string& name, const std::string& expected) const {
  const json& found = value(name);
  if (found.is_null())
    throw ApiError(400, "'{}' is missing, expected {}", name, expected).about(name);
  throw ApiError(400, "'{}' is {}, expected {}", name, config::shown(found), expected).about(name);
}

const json& Fields::value(const std::string& name) const {
  static const json null;
  const auto found = object_.find(name);
  return found == object_.end() ? null : *found;
}

bool Fields::has(const std::string& name) const {
  return !value(name).is_null();
}

std::optional<std::string> Fields::text(const std::string& name) const {
  if (!has(name)) return std::nullopt;
  if (!value(name).is_string()) refuse(name, "a string");
  return value(name).get<std::string>();
}

std::string Fields::required_text(const std::string& name) const {
  if (!has(name)) refuse(name, "a string");
  return *text(name);
}

void Fields::read(const std::vector<config::Field>& fields) const {
  config::Json named = config::Json::object();
  for (const config::Field& field : fields)
    if (const std::string name(field.name); has(name)) named[name] = value(name);
  set_fields(named, fields);
}

bool flag(const Request& request, const std::string& name) {
  const std::string value = request.parameter(name, "false");
  if (value != "true" && value != "false")
    throw ApiError(400, "{} is '{}', expected true or false", name, value).about(name);
  return value == "true";
}

// ---- The fields of jobs.

namespace {

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
/// Throws ApiError 400 where a field gets two values, unless it is a list.
Json named_values(const Request& request, const std::vector<config::Field>& fields) {
  Json named = Json::object();
  const bool has_text = std::ranges::find(fields, "text", &config::Field::name) != fields.end();
  const auto take_text = [&](const std::string& name, const std::string& text) {
    const auto field = std::ranges::find(fields, name, &config::Field::name);
    const bool known = field != fields.end();
    const auto [place, is_new] = named.emplace(name, known ? value_of(text, *field) : Json(text));
    if (!is_new && !place->is_array())
      throw ApiError(400, "{} is given more than once", name).about(name);
    if (!is_new) place->push_back(text);
    return known;
  };
  if (has_text && media_type(request).starts_with("text/")) {
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
