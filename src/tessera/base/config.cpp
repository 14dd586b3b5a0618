#include "tessera/base/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/base/suggestion.h"

namespace tessera::config {
namespace {

template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;

std::string joined(std::span<const std::string_view> names, std::string_view separator) {
  std::string text;
  for (std::string_view name : names)
    text += (text.empty() ? "" : std::string(separator)) + std::string(name);
  return text;
}

/// Whether `json` is a whole number that Integer holds without wrapping round.
template <std::integral Integer>
bool holds_integer(const Json& json) {
  if (json.is_number_unsigned()) return std::in_range<Integer>(json.get<uint64_t>());
  return json.is_number_integer() && std::in_range<Integer>(json.get<int64_t>());
}

void expect(bool fits, const Json& json, const std::string& path, std::string_view expected) {
  if (!fits) throw UsageError("{} is {}, expected {}", path, json.dump(), expected);
}

template <typename Value>
Value read_value(const Json& json, const std::string& path) {
  if constexpr (is_vector<Value>) {
    expect(json.is_array(), json, path, "a list");
    Value result;
    for (const auto& item : json)
      result.push_back(
          read_value<typename Value::value_type>(item, fmt::format("{}[{}]", path, result.size())));
    return result;
  } else {
    if constexpr (std::is_same_v<Value, bool>)
      expect(json.is_boolean(), json, path, "true or false");
    else if constexpr (std::is_integral_v<Value>)
      expect(holds_integer<Value>(json), json, path,
             std::is_signed_v<Value> ? "a whole number" : "a whole number from 0 on");
    else if constexpr (std::is_floating_point_v<Value>)
      expect(json.is_number(), json, path, "a number");
    else
      expect(json.is_string(), json, path, "a text");
    return json.get<Value>();
  }
}

/// What a field does with its value, whatever the type.
struct FieldToJson {
  Json operator()(const EnumField& field) const { return field.names[field.read(field.member)]; }
  Json operator()(const std::vector<Field>& fields) const { return fields_to_json(fields); }
  template <typename Value>
  Json operator()(const Value* value) const {
    return *value;
  }
};

struct FieldFromJson {
  const Json& json;
  const std::string& path;

  void operator()(const EnumField& field) const {
    expect(json.is_string(), json, path, "a name");
    field.write(field.member, index_of_name(field.names, json.get<std::string>(), path));
  }
  void operator()(const std::vector<Field>& fields) const { fields_from_json(json, fields, path); }
  template <typename Value>
  void operator()(Value* value) const {
    *value = read_value<Value>(json, path);
  }
};

}  // namespace

size_t index_of_name(std::span<const std::string_view> names, std::string_view name,
                     std::string_view what) {
  for (size_t index = 0; index < names.size(); ++index)
    if (names[index] == name) return index;
  throw UsageError("{} is '{}', expected one of: {}", what, name, joined(names, ", "));
}

Json fields_to_json(const std::vector<Field>& fields) {
  Json json = Json::object();
  for (const Field& field : fields)
    json[std::string(field.name)] = std::visit(FieldToJson{}, field.value);
  return json;
}

void fields_from_json(const Json& json, const std::vector<Field>& fields,
                      const std::string& where) {
  if (!json.is_object()) throw UsageError("{} is {}, expected a table", where, json.dump());
  for (const auto& entry : json.items()) {
    const std::string& key = entry.key();
    const auto field = std::ranges::find(fields, key, &Field::name);
    if (field == fields.end()) {
      const auto names = names_of(fields);
      const std::string near = suggestion(key, names);
      throw UsageError("{}: unknown key '{}'{}", where.empty() ? "configuration" : where, key,
                       near.empty() ? fmt::format("; there are {}", fmt::join(names, ", ")) : near);
    }
    const std::string path = where.empty() ? key : fmt::format("{}.{}", where, key);
    std::visit(FieldFromJson{entry.value(), path}, field->value);
  }
}

std::string describe(const std::vector<Field>& fields, const std::string& indent) {
  std::string text;
  for (const Field& field : fields) {
    if (const auto* inner = std::get_if<std::vector<Field>>(&field.value)) {
      text += fmt::format("{}[{}] {}\n{}", indent, field.name, field.help,
                          describe(*inner, indent + "  "));
      continue;
    }
    const auto* choices = std::get_if<EnumField>(&field.value);
    const std::string value = std::visit(FieldToJson{}, field.value).dump();
    text +=
        fmt::format("{}{:<30} {}{}\n", indent, fmt::format("{} = {}", field.name, value),
                    field.help, choices ? fmt::format(" ({})", joined(choices->names, " | ")) : "");
  }
  return text;
}

std::vector<std::string> names_of(const std::vector<Field>& fields) {
  std::vector<std::string> names;
  for (const Field& field : fields) names.emplace_back(field.name);
  return names;
}

}  // namespace tessera::config
