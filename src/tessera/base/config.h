#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/error.h"

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
/// A field is a bool, an integer, a double, a std::string, a std::optional of int64_t, double or
/// std::string, a std::vector of int64_t, double or std::string, an enum with
/// `enum_names(Enum)` beside it (an array of names in the order of its values), or another
/// configuration. A fourth argument says what must hold of it (Demand).
///
/// What is done with fields is compiled once, in config.cpp. A file that holds a Json by value
/// includes <nlohmann/json.hpp> itself.
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

/// The position of `name` in `names`. Throws UsageError that lists the names there are.
size_t index_of_name(std::span<const std::string_view> names, std::string_view name,
                     std::string_view what);

/// The value with this name. Throws UsageError that lists the names there are.
template <NamedEnum Enum>
Enum enum_value(std::string_view name, std::string_view what) {
  const auto names = enum_names(Enum{});
  return static_cast<Enum>(index_of_name(names, name, what));
}

/// An enum that is a field: the names of its values, and the member behind them.
struct EnumField {
  std::span<const std::string_view> names;
  void* member;
  size_t (*read)(const void* member);
  void (*write)(void* member, size_t index);
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What must hold of a field beside its type. Where a number has a bound, it is finite.
struct Demand {
  double least = -kInfinity, most = kInfinity;
  bool above_least = false, below_most = false;  ///< whether that bound itself is refused
  bool required = false;                         ///< it has no default

  bool allows(double number) const;
  /// "from 0 to 100", "from 1 on", "above 0, up to 1"; "" where it may be any number.
  std::string range() const;
};
constexpr Demand required() {
  return {.required = true};
}
constexpr Demand at_least(double least) {
  return {.least = least};
}
constexpr Demand between(double least, double most) {
  return {.least = least, .most = most};
}
/// More than `least`, up to `most`.
constexpr Demand above(double least, double most = kInfinity) {
  return {.least = least, .most = most, .above_least = true};
}
/// From 0 on, less than `most`.
constexpr Demand below(double most) {
  return {.least = 0, .most = most, .below_most = true};
}
/// More than 0, less than 1.
constexpr Demand inner_share() {
  return {.least = 0, .most = 1, .above_least = true, .below_most = true};
}

/// One field of a configuration. It points into the configuration, which must outlive it.
struct Field {
  std::string_view name, help;
  std::variant<bool*, int32_t*, int64_t*, uint64_t*, double*, std::string*, std::optional<int64_t>*,
               std::optional<double>*, std::optional<std::string>*, std::vector<int64_t>*,
               std::vector<double>*, std::vector<std::string>*, EnumField, std::vector<Field>>
      value;
  Demand demand = {};
};

/// A field of an outer value is not what was demanded.
class FieldError : public UsageError {
 public:
  /// path: the field's, "train.steps"; message: what was found and what was expected.
  FieldError(std::string path, const std::string& message)
      : UsageError("{}", message), path_(std::move(path)) {}

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

template <NamedEnum Enum>
EnumField enum_field(Enum& member) {
  static constexpr auto kNames = enum_names(Enum{});
  return {kNames, &member,
          [](const void* from) { return static_cast<size_t>(*static_cast<const Enum*>(from)); },
          [](void* to, size_t index) { *static_cast<Enum*>(to) = static_cast<Enum>(index); }};
}

/// The fields in the order of the list. Those of a const configuration must only be read.
template <Configuration T>
std::vector<Field> fields_of(const T& value) {
  std::vector<Field> fields;
  const_cast<T&>(value).visit_fields([&]<typename Member>(std::string_view name, Member& member,
                                                          std::string_view help,
                                                          const Demand& demand = {}) {
    if constexpr (Configuration<Member>)
      fields.push_back({name, help, fields_of(member), demand});
    else if constexpr (std::is_enum_v<Member>)
      fields.push_back({name, help, enum_field(member), demand});
    else
      fields.push_back({name, help, &member, demand});
  });
  return fields;
}

Json fields_to_json(const std::vector<Field>& fields);
void fields_from_json(const Json& json, const std::vector<Field>& fields, const std::string& where);
/// Throws as fields_from_json() where a value is not what is demanded of it. It writes each value
/// to its field again.
void check_fields(const std::vector<Field>& fields, const std::string& where);
std::string describe(const std::vector<Field>& fields, const std::string& indent);
/// What a field means, and what it may be: the names of an enum, and the bounds of numbers but for
/// those that go without saying (at least 0 or 1) or that nobody comes near (above ten million).
std::string help_of(const Field& field);
std::vector<std::string> names_of(const std::vector<Field>& fields);

/// Fields in the order of the list, as a Json.
template <Configuration T>
auto to_json(const T& value) {
  return fields_to_json(fields_of(value));
}

/// Sets the fields that `json` names and leaves the others. Throws FieldError with the field's
/// path, what was found and what was expected, or, for an unknown name, the nearest known one;
/// `value` is then as before. null is the absence of an optional field. where: prefix of the paths
/// in messages ("config.toml: model").
template <Configuration T>
void from_json(const Json& json, T& value, const std::string& where) {
  T result = value;
  fields_from_json(json, fields_of(result), where);
  value = std::move(result);
}

/// Throws FieldError, as from_json does, where a field is not what is demanded of it: for a value
/// that no JSON gave.
template <Configuration T>
void check_demands(const T& value, const std::string& where) {
  T copy = value;
  check_fields(fields_of(copy), where);
}

/// The configuration, after its own check().
template <typename T>
const T& checked(const T& value) {
  value.check();
  return value;
}

/// One line per field, nested ones indented: name = default, then what it means. For --help.
template <Configuration T>
std::string describe_fields(const T& value = {}, const std::string& indent = "") {
  return describe(fields_of(value), indent);
}

/// A table that a configuration file may have: the fields that it sets, or where it goes as it is.
struct Table {
  std::string_view name;
  std::variant<std::vector<Field>, Json*> content;
};

/// Calls `work`. What a UsageError of it says then begins with `where`: the configuration's file;
/// "": it stays as it is.
template <typename Work>
auto saying_where(const std::string& where, const Work& work) {
  try {
    return work();
  } catch (const UsageError& error) {
    if (where.empty()) throw;
    throw UsageError("{}: {}", where, error.what());
  }
}

/// Reads a configuration file's tables. where: prefix of the paths in messages; "" for none. Throws
/// UsageError on a key that is not a table, with the table or the table's key that was probably
/// meant or else the tables there are, and as from_json() does.
void read_tables(const Json& json, const std::vector<Table>& tables, const std::string& where);

/// Every value that nested tables hold, in their order, with its path: "train.steps". A list is one
/// value. where: prefix of the paths; "" for none.
std::vector<std::pair<std::string, Json>> leaves(const Json& table, const std::string& where = "");

/// A value as a message shows it: in its first characters, and in plain ASCII where it is foreign.
std::string shown(const Json& json);

/// A TOML file as JSON. Throws SystemError, or UsageError with line and column, also where tables
/// are nested deeper than 100 levels, a table has more than 1000 keys or the text 5000 dots.
Json read_toml(const std::filesystem::path& path);
/// A JSON object of objects, arrays and scalars as TOML text. Throws UsageError on what TOML cannot
/// say, null, whole numbers beyond 2^63 - 1 and texts that are not UTF-8, and on 5001 dots or more.
std::string to_toml(const Json& json);
/// A JSON file that came from outside. Throws SystemError, or DataError with the byte of the fault,
/// also when it is nested deeper than 100 levels or an object has more than 1000 keys: to read n of
/// them takes time n^2.
Json read_json(const std::filesystem::path& path);
Json parse_json(std::string_view text, const std::string& source);
/// The same for objects of any number of keys: sorted, in time n log n.
nlohmann::json parse_sorted_json(std::string_view text, const std::string& source);
/// Adds "model.heads=8" to `json`; the value is read as TOML, and as a string where it is none, or
/// a date. Throws UsageError where there is no '=', a key is empty, a plain value stands in the way
/// or the text is not UTF-8.
void set_from_text(Json& json, const std::string& assignment);

}  // namespace config
}  // namespace tessera
