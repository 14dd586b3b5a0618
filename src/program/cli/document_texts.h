#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::cli {

/// The text of a file, or of every file of a folder, as TextSource finds them. Throws as it does.
std::vector<std::string> document_texts(const std::filesystem::path& path);

}  // namespace tessera::cli
