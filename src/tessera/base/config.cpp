#include "tessera/base/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tessera/base/suggestion.h"

namespace tessera::config {
namespace {

template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// Whether `json` is a whole number that Integer holds without wrapping round.
template <std::integral Integer>
bool holds_integer(const Json& json) {
  if (json.is_number_unsigned()) return std::in_range<Integer>(json.get<uint64_t>());
  return json.is_number_integer() && std::in_range<Integer>(json.get<int64_t>());
}

std::string path_of(const std::string& where, const std::string& key) {
  return where.empty() ? key : fmt::format("{}.{}", where, key);
}

void expect(bool fits, const Json& json, const std::string& path, std::string_view expected) {
  if (!fits)
    throw FieldError(path, fmt::format("{} is {}, expected {}", path, shown(json), expected));
}

/// "a whole number from 0 to 100"
template <typename Number>
std::string numbers_allowed(Demand demand) {
  if (std::is_unsigned_v<Number>) demand.least = std::max(0.0, demand.least);
  const std::string kind = std::is_integral_v<Number> ? "a whole number" : "a number";
  const std::string range = demand.range();
  return range.empty() ? kind : kind + " " + range;
}

template <typename Number>
bool holds_number(const Json& json, const Demand& demand) {
  if constexpr (std::is_integral_v<Number>) {
    if (!holds_integer<Number>(json)) return false;
  } else if (!json.is_number()) {
    return false;
  }
  return demand.allows(json.get<Number>());
}

template <typename Value>
Value read_value(const Json& json, const std::string& path, const Demand& demand) {
  if constexpr (is_optional<Value>) {
    if (json.is_null()) return {};
    return read_value<typename Value::value_type>(json, path, demand);
  } else if constexpr (is_vector<Value>) {
    expect(json.is_array(), json, path, "a list");
    Value result;
    for (const auto& item : json)
      result.push_back(read_value<typename Value::value_type>(
          item, fmt::format("{}[{}]", path, result.size()), demand));
    return result;
  } else {
    if constexpr (std::is_same_v<Value, bool>)
      expect(json.is_boolean(), json, path, "true or false");
    else if constexpr (std::is_arithmetic_v<Value>)
      expect(holds_number<Value>(json, demand), json, path, numbers_allowed<Value>(demand));
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
  Json operator()(const std::optional<Value>* value) const {
    return *value ? Json(**value) : Json(nullptr);
  }
  template <typename Value>
  Json operator()(const Value* value) const {
    return *value;
  }
};

struct FieldFromJson {
  const Json& json;
  const std::string& path;
  const Demand& demand;

  void operator()(const EnumField& field) const {
    const auto name =
        std::ranges::find(field.names, json.is_string() ? json.get<std::string>() : "");
    expect(name != field.names.end(), json, path,
           fmt::format("one of: {}", fmt::join(field.names, ", ")));
    field.write(field.member, name - field.names.begin());
  }
  void operator()(const std::vector<Field>& fields) const { fields_from_json(json, fields, path); }
  template <typename Value>
  void operator()(Value* value) const {
    *value = read_value<Value>(json, path, demand);
  }
};

}  // namespace

bool Demand::allows(double number) const {
  if (number == least && above_least) return false;
  if (number == most && below_most) return false;
  return number >= least && number <= most && (std::isfinite(number) || !std::isfinite(least));
}

std::string Demand::range() const {
  if (!std::isfinite(least)) return "";
  const std::string lower = fmt::format("{} {}", above_least ? "above" : "from", least);
  if (!std::isfinite(most)) return above_least ? lower : lower + " on";
  if (!above_least) return fmt::format("{} to {}{}", lower, below_most ? "below " : "", most);
  return fmt::format("{}, {} {}", lower, below_most ? "below" : "up to", most);
}

std::string shown(const Json& json) {
  if (json.is_number_float() && !std::isfinite(json.get<double>()))
    return fmt::format("{}", json.get<double>());
  constexpr size_t kShown = 60;
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "…";
  return text;
}

std::vector<std::pair<std::string, Json>> leaves(const Json& table, const std::string& where) {
  std::vector<std::pair<std::string, Json>> all;
  for (const auto& [key, value] : table.items()) {
    const std::string path = path_of(where, key);
    if (value.is_object())
      std::ranges::move(leaves(value, path), std::back_inserter(all));
    else
      all.emplace_back(path, value);
  }
  return all;
}

size_t index_of_name(std::span<const std::string_view> names, std::string_view name,
                     std::string_view what) {
  const auto found = std::ranges::find(names, name);
  check_argument(found != names.end(), "{} is '{}', expected one of: {}", what, name,
                 fmt::join(names, ", "));
  return found - names.begin();
}

Json fields_to_json(const std::vector<Field>& fields) {
  Json json = Json::object();
  for (const Field& field : fields)
    json[std::string(field.name)] = std::visit(FieldToJson{}, field.value);
  return json;
}

void fields_from_json(const Json& json, const std::vector<Field>& fields,
                      const std::string& where) {
  expect(json.is_object(), json, where, "a table");
  for (const auto& entry : json.items()) {
    const std::string& key = entry.key();
    const std::string path = path_of(where, key);
    const auto field = std::ranges::find(fields, key, &Field::name);
    if (field == fields.end()) {
      const auto names = names_of(fields);
      const std::string known = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
      const std::string near = suggestion(key, names);
      throw FieldError(path, fmt::format("{}unknown key '{}'{}", where.empty() ? "" : where + ": ",
                                         key, near.empty() ? "; there are " + known : near));
    }
    std::visit(FieldFromJson{entry.value(), path, field->demand}, field->value);
  }
  for (const Field& field : fields)
    if (const std::string key(field.name); field.demand.required && !json.contains(key))
      throw FieldError(path_of(where, key), fmt::format("{} is missing", path_of(where, key)));
}

void check_fields(const std::vector<Field>& fields, const std::string& where) {
  fields_from_json(fields_to_json(fields), fields, where);
}

std::string help_of(const Field& field) {
  constexpr double kHuge = 1e7;
  Demand demand = field.demand;
  if (const auto* choices = std::get_if<EnumField>(&field.value))
    return fmt::format("{} ({})", field.help, fmt::join(choices->names, " | "));
  if (demand.most > kHuge) demand.most = kInfinity;
  const bool goes_without_saying =
      !demand.above_least && demand.most == kInfinity && (demand.least <= 0 || demand.least == 1);
  if (goes_without_saying) return std::string(field.help);
  return fmt::format("{} ({})", field.help, demand.range());
}

std::string describe(const std::vector<Field>& fields, const std::string& indent) {
  std::string text;
  for (const Field& field : fields) {
    if (const auto* inner = std::get_if<std::vector<Field>>(&field.value)) {
      text += fmt::format("{}[{}] {}\n{}", indent, field.name, field.help,
                          describe(*inner, indent + "  "));
      continue;
    }
    const std::string value = std::visit(FieldToJson{}, field.value).dump();
    text += fmt::format("{}{:<30} {}\n", indent, fmt::format("{} = {}", field.name, value),
                        help_of(field));
  }
  return text;
}

std::vector<std::string> names_of(const std::vector<Field>& fields) {
  std::vector<std::string> names;
  for (const Field& field : fields) names.emplace_back(field.name);
  return names;
}

}  // namespace tessera::config
