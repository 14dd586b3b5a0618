// Configurations as TOML and JSON texts, and the tables of a file.

#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/base/file.h"
#include "tessera/base/suggestion.h"
#include "tessera/base/utf8.h"

namespace tessera::config {
namespace {

constexpr size_t kDeepestNesting = 100;
constexpr int64_t kMostKeys = 1000;  // of an object whose keys keep their order
constexpr int64_t kMostDots = 5000;  // of a text in TOML

/// depth: of the node in its file.
Json from_toml(const toml::node& node, size_t depth = 0) {
  const auto line = node.source().begin.line;
  if (depth > kDeepestNesting)
    throw UsageError("line {}: nested deeper than {} levels", line, kDeepestNesting);
  if (const auto* table = node.as_table()) {
    if (std::cmp_greater(table->size(), kMostKeys))
      throw UsageError("line {}: a table has more than {} keys", line, kMostKeys);
    Json json = Json::object();
    for (const auto& [key, item] : *table)
      json[std::string(key.str())] = from_toml(item, depth + 1);
    return json;
  }
  if (const auto* array = node.as_array()) {
    Json json = Json::array();
    for (const auto& item : *array) json.push_back(from_toml(item, depth + 1));
    return json;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  throw UsageError("line {}: dates and times have no meaning here", line);
}

/// Throws UsageError on too many dots. One may begin one more part of a key, and so a table in
/// another: toml++ takes tables apart by recursion and, before version 3.4, takes any number.
void check_dots(std::string_view text) {
  check_argument(std::ranges::count(text, '.') <= kMostDots, "more than {} dots, expected fewer",
                 kMostDots);
}

/// Throws UsageError, or toml::parse_error.
Json parse_toml(std::string_view text, const std::string& source = "") {
  check_dots(text);
  return from_toml(toml::parse(text, source));
}

void check_utf8(const std::string& text) {
  check_argument(utf8::valid_prefix(text) == text.size(), "'{}' is not UTF-8, which TOML needs",
                 utf8::printable_line(text));
}

std::string toml_string(const std::string& text) {
  check_utf8(text);
  std::string quoted = Json(text).dump();  // JSON's escapes are TOML's, but for DEL
  for (size_t at = 0; (at = quoted.find('\x7f', at)) != std::string::npos;)
    quoted.replace(at, 1, "\\u007F");
  return quoted;
}

std::string toml_key(const std::string& key) {
  const bool bare = !key.empty() && std::ranges::all_of(key, [](unsigned char letter) {
    return std::isalnum(letter) || letter == '_' || letter == '-';
  });
  return bare ? key : toml_string(key);
}

/// Arrays, and tables that stand in one, on one line.
std::string toml_value(const Json& json) {
  if (json.is_array() || json.is_object()) {
    std::string items;
    for (const auto& [key, item] : json.items())
      items += (items.empty() ? "" : ", ") + (json.is_object() ? toml_key(key) + " = " : "") +
               toml_value(item);
    return json.is_array() ? "[" + items + "]" : "{" + items + "}";
  }
  if (json.is_string()) return toml_string(json.get<std::string>());
  check_argument(!json.is_number_unsigned() || std::in_range<int64_t>(json.get<uint64_t>()),
                 "to_toml: {} does not fit 64 bits", json.dump());
  check_argument(json.is_boolean() || (json.is_number() && std::isfinite(json.get<double>())),
                 "to_toml: {} has no form in TOML", json.dump());
  return json.dump();
}

/// The plain values of a table, then the tables in it under their headers.
void append_table(const Json& table, const std::string& path, std::string& text) {
  for (const auto& [key, item] : table.items())
    if (!item.is_object()) text += toml_key(key) + " = " + toml_value(item) + "\n";
  for (const auto& [key, item] : table.items()) {
    if (!item.is_object()) continue;
    const std::string name = path + toml_key(key);
    text += (text.empty() ? "[" : "\n[") + name + "]\n";
    append_table(item, name + ".", text);
  }
}

/// Throws where brackets are nested too deep, or where an object has more keys than that. Looks at
/// brackets and colons alone: a parser that calls back for every value takes time by the square of
/// a list's length.
void check_structure(std::string_view text, const std::string& source, int64_t most_keys) {
  std::vector<int64_t> keys = {0};  // of each object or list that is open
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '[' || c == '{') keys.push_back(0);
    if ((c == ']' || c == '}') && keys.size() > 1) keys.pop_back();
    if (keys.size() > kDeepestNesting + 1)
      throw DataError(source, "is nested deeper than {} levels", kDeepestNesting);
    if (c == ':' && ++keys.back() > most_keys)
      throw DataError(source, "has an object of more than {} keys", most_keys);
  }
}

template <typename AnyJson>
AnyJson parse(std::string_view text, const std::string& source) {
  check_structure(text, source, std::is_same_v<AnyJson, Json> ? kMostKeys : std::ssize(text));
  try {
    return AnyJson::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw DataError(source, "byte {}: not valid JSON", error.byte);
  } catch (const nlohmann::json::out_of_range&) {
    throw DataError(source, "not usable JSON: a number is beyond what a double holds");
  }
}

std::vector<std::string> split_keys(const std::string& path, const std::string& assignment) {
  std::vector<std::string> keys(1);
  for (char letter : path)
    if (letter == '.')
      keys.emplace_back();
    else
      keys.back() += letter;
  for (const auto& key : keys)
    if (key.empty())
      throw UsageError("'{}' has an empty key; write key=value, for example train.steps=1000",
                       assignment);
  return keys;
}

/// The nearest name of a table or of a field in one, which stands there with its table; the tables
/// there are where none is near.
std::string suggestion_for(const std::string& key, const std::vector<Table>& tables) {
  std::vector<std::string> names, paths;
  for (const Table& table : tables) {
    names.emplace_back(table.name);
    paths.emplace_back(table.name);
    if (const auto* fields = std::get_if<std::vector<Field>>(&table.content))
      for (const Field& field : *fields) {
        names.emplace_back(field.name);
        paths.push_back(fmt::format("{}.{}", table.name, field.name));
      }
  }
  if (const auto meant = nearest_name(key, names))
    return fmt::format("; did you mean '{}'?", paths[*meant]);
  std::vector<std::string_view> known;
  for (const Table& table : tables) known.push_back(table.name);
  return fmt::format("; there are {}", fmt::join(known, ", "));
}

}  // namespace

Json read_toml(const std::filesystem::path& path) {
  const std::string text = read_file(path, 1 << 20);
  try {
    return parse_toml(text, path.native());
  } catch (const toml::parse_error& error) {
    throw UsageError(
        "{}: line {}, column {}: {}; expected TOML: lines 'key = value' below lines '[table]'",
        path.native(), error.source().begin.line, error.source().begin.column, error.description());
  } catch (const UsageError& error) {
    throw UsageError("{}: {}", path.native(), error.what());
  }
}

std::string to_toml(const Json& json) {
  check_argument(json.is_object(), "to_toml: {} is not a table", json.type_name());
  std::string text;
  append_table(json, "", text);
  check_dots(text);
  return text;
}

Json parse_json(std::string_view text, const std::string& source) {
  return parse<Json>(text, source);
}

nlohmann::json parse_sorted_json(std::string_view text, const std::string& source) {
  return parse<nlohmann::json>(text, source);
}

Json read_json(const std::filesystem::path& path) {
  return parse_json(read_file(path, 256 << 20), path.native());
}

void set_from_text(Json& json, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos)
    throw UsageError("'{}' sets nothing; write key=value, for example train.steps=1000",
                     assignment);
  check_utf8(assignment);
  const std::string value = assignment.substr(equals + 1);
  Json parsed = value;
  try {
    const Json table = parse_toml("value = " + value);
    if (table.size() == 1) parsed = table["value"];  // it may have lines of its own
  } catch (const toml::parse_error&) {
  } catch (const UsageError&) {  // a date
  }
  Json result = json;
  Json* place = &result;
  for (const auto& key : split_keys(assignment.substr(0, equals), assignment)) {
    if (!place->is_object() && !place->is_null())
      throw UsageError("'{}': '{}' stands below a plain value", assignment, key);
    place = &(*place)[key];
  }
  *place = std::move(parsed);
  json = std::move(result);
}

void read_tables(const Json& json, const std::vector<Table>& tables, const std::string& where) {
  for (const auto& [key, value] : json.items()) {
    const auto table = std::ranges::find(tables, key, &Table::name);
    if (table == tables.end())
      throw UsageError("{}: unknown table '{}'{}", where.empty() ? "configuration" : where, key,
                       suggestion_for(key, tables));
    if (const auto* whole = std::get_if<Json*>(&table->content))
      **whole = value;
    else
      fields_from_json(value, std::get<std::vector<Field>>(table->content),
                       where.empty() ? key : where + ": " + key);
  }
}

}  // namespace tessera::config
