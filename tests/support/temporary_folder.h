#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace tessera::test {

/// Where files are in memory, so that syncing them costs nothing; or the usual place.
inline std::filesystem::path folder_in_memory() {
  const std::filesystem::path folder = "/dev/shm";
  return ::access(folder.c_str(), W_OK) == 0 ? folder : std::filesystem::temp_directory_path();
}

/// A folder of one test, gone with it.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(
      const std::filesystem::path& above = std::filesystem::temp_directory_path()) {
    std::string name = (above / "tessera-test-XXXXXX").native();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::filesystem::filesystem_error("mkdtemp", name,
                                              std::error_code(errno, std::generic_category()));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// The message of the exception `action` throws; empty where it throws none of this type.
template <typename Exception, typename Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace tessera::test
