#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessera::web {

/// A file of the page, in the program itself.
struct WebFile {
  std::string path;  ///< "/page.js"; "/" for index.html
  std::string content_type;
  std::string_view content;
};

/// Those of src/program/web/page at the time of the build (cmake/EmbedFiles.cmake).
std::span<const WebFile> web_files();

}  // namespace tessera::web
