#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace tessera::fuzz {

inline void write(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// What a target needs no corpus for: inputs that it makes itself, by their names. They go into the
/// first folder of its command line, from LLVMFuzzerInitialize.
inline void write_seeds(int argc, char** argv, const std::map<std::string, std::string>& seeds) {
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) continue;
    for (const auto& [name, content] : seeds) write(std::filesystem::path(argv[i]) / name, content);
    return;
  }
}

}  // namespace tessera::fuzz
