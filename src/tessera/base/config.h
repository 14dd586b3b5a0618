#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"

namespace tessera {

/// A configuration is a plain struct with one list of its fields, which drives its defaults, help,
/// printing and parsing:
///
///     struct GptConfig {
///       int64_t layers = 12;
///       Positions positions = Positions::kLearned;
///       template <typename Visitor> void visit_fields(Visitor&& field) {
///         field("layers", layers, "number of blocks");
///         field("positions", positions, "how the network knows where a token stands");
///       }
///     };
///
/// A field is a bool, an integer, a double, a std::string, a std::vector of these, an enum with
/// `enum_names(Enum)` beside it (an array of names in the order of its values), or another
/// configuration.
namespace config {

using Json = nlohmann::ordered_json;

template <typename T>
concept Configuration = requires(T& value) {
  value.visit_fields([](auto&&...) {});
};

template <typename T>
concept NamedEnum = std::is_enum_v<T> && requires {
  enum_names(T{});
};

template <NamedEnum Enum>
std::string enum_name(Enum value) {
  return std::string(enum_names(value)[static_cast<size_t>(value)]);
}

/// The value with this name. Throws UsageError that lists the names there are.
template <NamedEnum Enum>
Enum enum_value(std::string_view name, std::string_view what) {
  std::vector<std::string> known;
  for (std::string_view candidate : enum_names(Enum{})) {
    if (candidate == name) return static_cast<Enum>(known.size());
    known.emplace_back(candidate);
  }
  std::string all;
  for (const auto& candidate : known) all += (all.empty() ? "" : ", ") + candidate;
  throw UsageError("{} is '{}', expected one of: {}", what, name, all);
}

/// Fields in the order of the list.
template <Configuration T>
Json to_json(const T& value) {
  Json json = Json::object();
  const_cast<T&>(value).visit_fields([&](std::string_view name, auto& field, std::string_view) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (Configuration<Field>)
      json[std::string(name)] = to_json(field);
    else if constexpr (std::is_enum_v<Field>)
      json[std::string(name)] = enum_name(field);
    else
      json[std::string(name)] = field;
  });
  return json;
}

template <Configuration T>
std::vector<std::string> field_names(T value = {}) {
  std::vector<std::string> names;
  value.visit_fields(
      [&](std::string_view name, auto&, std::string_view) { names.emplace_back(name); });
  return names;
}

template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;

/// Whether `json` is a whole number that Integer holds without wrapping round.
template <std::integral Integer>
bool holds_integer(const Json& json) {
  if (json.is_number_unsigned()) return std::in_range<Integer>(json.template get<uint64_t>());
  return json.is_number_integer() && std::in_range<Integer>(json.template get<int64_t>());
}

/// Reads one scalar, vector or enum. Throws UsageError with the field's path, what was found and
/// what was expected.
template <typename Field>
void read_field(const Json& json, Field& field, const std::string& path) {
  const auto expect = [&](bool fits, std::string_view expected) {
    if (!fits) throw UsageError("{} is {}, expected {}", path, json.dump(), expected);
  };
  if constexpr (std::is_enum_v<Field>) {
    expect(json.is_string(), "a name");
    field = enum_value<Field>(json.template get<std::string>(), path);
  } else if constexpr (is_vector<Field>) {
    expect(json.is_array(), "a list");
    Field result;
    for (const auto& item : json) {
      typename Field::value_type element{};
      read_field(item, element, fmt::format("{}[{}]", path, result.size()));
      result.push_back(std::move(element));
    }
    field = std::move(result);
  } else {
    if constexpr (std::is_same_v<Field, bool>)
      expect(json.is_boolean(), "true or false");
    else if constexpr (std::is_integral_v<Field>)
      expect(holds_integer<Field>(json),
             std::is_signed_v<Field> ? "a whole number" : "a whole number from 0 on");
    else if constexpr (std::is_floating_point_v<Field>)
      expect(json.is_number(), "a number");
    else
      expect(json.is_string(), "a text");
    field = json.template get<Field>();
  }
}

/// Sets the fields that `json` names and leaves the others. An unknown name is a UsageError that
/// suggests the nearest known one. where: prefix of the paths in messages ("config.toml: model").
template <Configuration T>
void from_json(const Json& json, T& value, const std::string& where) {
  if (!json.is_object()) throw UsageError("{} is {}, expected a table", where, json.dump());
  T result = value;
  for (const auto& entry : json.items()) {
    const std::string& key = entry.key();
    const Json& item = entry.value();
    bool known = false;
    result.visit_fields([&](std::string_view name, auto& field, std::string_view) {
      if (name != key) return;
      known = true;
      const std::string path = where.empty() ? key : fmt::format("{}.{}", where, key);
      if constexpr (Configuration<std::remove_cvref_t<decltype(field)>>)
        from_json(item, field, path);
      else
        read_field(item, field, path);
    });
    if (!known)
      throw UsageError("{}: unknown key '{}'{}", where.empty() ? "configuration" : where, key,
                       suggestion(key, field_names<T>()));
  }
  value = std::move(result);
}

/// One line per field, nested ones indented: name = default, then what it means. For --help.
template <Configuration T>
std::string describe_fields(const T& value = {}, const std::string& indent = "") {
  std::string text;
  const_cast<T&>(value).visit_fields([&](std::string_view name, auto& field,
                                         std::string_view help) {
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (Configuration<Field>) {
      text +=
          fmt::format("{}[{}] {}\n{}", indent, name, help, describe_fields(field, indent + "  "));
    } else {
      Json shown;
      if constexpr (std::is_enum_v<Field>)
        shown = enum_name(field);
      else
        shown = field;
      std::string choices;
      if constexpr (NamedEnum<Field>)
        for (std::string_view choice : enum_names(field))
          choices += (choices.empty() ? " (" : " | ") + std::string(choice);
      text += fmt::format("{}{:<30} {}{}\n", indent, fmt::format("{} = {}", name, shown.dump()),
                          help, choices.empty() ? "" : choices + ")");
    }
  });
  return text;
}

/// A TOML file as JSON. Throws SystemError, or UsageError with line and column.
Json read_toml(const std::filesystem::path& path);
/// A JSON object of objects, arrays and scalars as TOML text. Throws std::invalid_argument on what
/// TOML cannot say: null, whole numbers beyond 2^63 - 1.
std::string to_toml(const Json& json);
/// A JSON file that came from outside. Throws DataError with the byte of the fault, also when it is
/// nested deeper than 100 levels.
Json read_json(const std::filesystem::path& path);
Json parse_json(std::string_view text, const std::string& source);
/// The same for tables of many keys: sorted, in time n log n where parse_json needs n^2.
nlohmann::json parse_sorted_json(std::string_view text, const std::string& source);
/// Adds "model.heads=8" to `json`; the value is read as TOML, and as a string where it is none.
/// Throws UsageError where there is no '=', a key is empty or a plain value stands in the way.
void set_from_text(Json& json, const std::string& assignment);

}  // namespace config
}  // namespace tessera
