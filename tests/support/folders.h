#pragma once

#include <filesystem>
#include <string>

namespace tessera::test {

/// Folders of this clone, known to folders.cpp alone: the objects of all other tests are the same
/// in every clone, so that the compiler's cache has them.
std::filesystem::path source_folder();
std::filesystem::path build_folder();
/// Where golden tensors of this name are: in tests/golden, else in the folder with more of them.
std::filesystem::path golden_file(const std::string& name);
std::filesystem::path data_folder();

}  // namespace tessera::test
