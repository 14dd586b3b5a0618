#include "tessera/base/config_tables.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/base/suggestion.h"

namespace tessera::config {
namespace {

/// The nearest name of a table or of a field in one, which stands there with its table.
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
  const std::string meant = suggestion(key, names);
  for (size_t i = 0; i < names.size(); ++i)
    if (meant == suggestion(names[i], {names[i]})) return suggestion(paths[i], {paths[i]});
  return "";
}

}  // namespace

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
