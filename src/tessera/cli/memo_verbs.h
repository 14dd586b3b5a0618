#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace tessera::cli {

/// The verbs below `tessera memo`; each adds its own.
void add_memo_create(CLI::App& memo);
void add_memo_memorize(CLI::App& memo);
void add_memo_forget(CLI::App& memo);
void add_memo_documents(CLI::App& memo);
void add_memo_find(CLI::App& memo);
void add_memo_recall(CLI::App& memo);
void add_memo_complete(CLI::App& memo);
void add_memo_stat(CLI::App& memo);
void add_memo_verify(CLI::App& memo);
void add_memo_merge(CLI::App& memo);
void add_memo_export(CLI::App& memo);

/// The store that a verb works on, its first argument.
inline CLI::Option* add_store(CLI::App& verb, std::string& store) {
  return verb.add_option("store", store, "The store, a folder")->required();
}

/// "1 document", "3 documents".
inline std::string counted(int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// "4.2 MB".
inline std::string readable_bytes(double bytes) {
  const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units[unit]);
}

}  // namespace tessera::cli
