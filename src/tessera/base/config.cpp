#include "tessera/base/config.h"

#include <toml++/toml.h>
#include <sstream>

#include "tessera/base/file.h"

namespace tessera::config {
namespace {

constexpr int kDeepestNesting = 100;

Json from_toml(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json json = Json::object();
    for (const auto& [key, item] : *table) json[std::string(key.str())] = from_toml(item);
    return json;
  }
  if (const auto* array = node.as_array()) {
    Json json = Json::array();
    for (const auto& item : *array) json.push_back(from_toml(item));
    return json;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  throw UsageError("line {}: dates and times have no meaning here", node.source().begin.line);
}

std::unique_ptr<toml::node> to_toml_node(const Json& json) {
  if (json.is_object()) {
    auto table = std::make_unique<toml::table>();
    for (const auto& [key, item] : json.items()) table->insert_or_assign(key, *to_toml_node(item));
    return table;
  }
  if (json.is_array()) {
    auto array = std::make_unique<toml::array>();
    for (const auto& item : json) array->push_back(*to_toml_node(item));
    return array;
  }
  if (json.is_boolean()) return std::make_unique<toml::value<bool>>(json.get<bool>());
  if (json.is_number_integer()) return std::make_unique<toml::value<int64_t>>(json.get<int64_t>());
  if (json.is_number()) return std::make_unique<toml::value<double>>(json.get<double>());
  return std::make_unique<toml::value<std::string>>(json.get<std::string>());
}

}  // namespace

Json read_toml(const std::filesystem::path& path) {
  const std::string text = read_file(path, 1 << 20);
  try {
    return from_toml(toml::parse(text, path.native()));
  } catch (const toml::parse_error& error) {
    throw UsageError("{}: line {}, column {}: {}", path.native(), error.source().begin.line,
                     error.source().begin.column, error.description());
  } catch (const UsageError& error) {
    throw UsageError("{}: {}", path.native(), error.what());
  }
}

std::string to_toml(const Json& json) {
  std::ostringstream text;
  text << *to_toml_node(json)->as_table() << '\n';
  return text.str();
}

Json parse_json(std::string_view text, const std::string& source) {
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t, Json&) {
      if (depth > kDeepestNesting)
        throw DataError(source, "is nested deeper than {} levels", kDeepestNesting);
      return true;
    });
  } catch (const nlohmann::json::parse_error& error) {
    throw DataError(source, "byte {}: not valid JSON", error.byte);
  }
}

Json read_json(const std::filesystem::path& path) {
  return parse_json(read_file(path, 256 << 20), path.native());
}

void set_from_text(Json& json, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError("'{}' sets nothing; write key=value, for example train.steps=1000",
                     assignment);
  const std::string value = assignment.substr(equals + 1);
  Json parsed;
  try {
    parsed = from_toml(toml::parse("value = " + value))["value"];
  } catch (const toml::parse_error&) {
    parsed = value;
  }
  Json* place = &json;
  std::istringstream keys(assignment.substr(0, equals));
  for (std::string key; std::getline(keys, key, '.');) {
    if (!place->is_object() && !place->is_null())
      throw UsageError("'{}': '{}' stands below a plain value", assignment, key);
    place = &(*place)[key];
  }
  *place = std::move(parsed);
}

}  // namespace tessera::config
