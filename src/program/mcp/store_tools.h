#pragma once

#include <string>
#include <vector>

#include "program/mcp/tool.h"

namespace tessera::mcp {

/// What an assistant may do with a store.
struct StoreAccess {
  std::string store = {};         ///< its folder
  bool read_only = false;         ///< only tools that change nothing
  std::string certificates = {};  ///< folder that gets those of `forget`; empty: it writes none
  std::string key = {};  ///< file with the private key that signs them; empty: nothing does
};

/// The jobs on a store as tools. Paths are the person's who started the server; an assistant names
/// documents, and a certificate by the name of a file. Throws as store::MemoStore.
std::vector<Tool> tools_of(const StoreAccess& access);

}  // namespace tessera::mcp
