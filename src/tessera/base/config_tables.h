#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tessera/base/config.h"

namespace tessera::config {

/// A table that a configuration file may have: the fields that it sets, or where it goes as it is.
struct Table {
  std::string_view name;
  std::variant<std::vector<Field>, Json*> content;
};

/// Reads a configuration file's tables. where: prefix of the paths in messages; "" for none. Throws
/// UsageError on a key that is no table, with the table or the table's key that was probably meant,
/// and as from_json() does.
void read_tables(const Json& json, const std::vector<Table>& tables, const std::string& where);

}  // namespace tessera::config
