#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/interrupt.h"

/// Documents as files.
namespace tessera::jobs {

/// Of documents whose files have other names than their ids: the id, and the file.
using RenamedDocuments = std::vector<std::pair<std::string, std::filesystem::path>>;

struct WrittenDocuments {
  uint64_t bytes = 0;
  RenamedDocuments renamed = {};
};

/// Writes documents below a new folder, which appears with all of them or not at all. The file of
/// each has its id as its path, where that leads to a file below the folder which no other document
/// has and which is found when the folder is read again; else another name. text_of: the text of
/// document 0, 1, … Throws UsageError where the folder holds something, SystemError, and what the
/// two functions throw.
WrittenDocuments write_documents(const std::filesystem::path& folder,
                                 const std::vector<std::string>& ids,
                                 const std::function<std::string(size_t document)>& text_of,
                                 const OnProgress& on_progress);

}  // namespace tessera::jobs
