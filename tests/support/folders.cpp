#include "tests/support/folders.h"

namespace tessera::test {

std::filesystem::path source_folder() {
  return TESSERA_SOURCE_FOLDER;
}

std::filesystem::path build_folder() {
  return TESSERA_BINARY_FOLDER;
}

std::filesystem::path golden_file(const std::string& name) {
  const auto ours = source_folder() / "tests/golden" / name;
  return std::filesystem::exists(ours) ? ours : std::filesystem::path(TESSERA_GOLDEN_FOLDER) / name;
}

std::filesystem::path data_folder() {
  return TESSERA_DATA_FOLDER;
}

}  // namespace tessera::test
