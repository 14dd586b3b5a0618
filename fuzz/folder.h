#pragma once

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

namespace tessera::fuzz {

/// A folder in memory, gone with the process.
class Folder {
 public:
  Folder() {
    std::string name = "/dev/shm/tessera-fuzz-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline void write(const std::filesystem::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
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
