#include "program/cli/document_texts.h"

#include "tessera/data/text_source.h"

namespace tessera::cli {

std::vector<std::string> document_texts(const std::filesystem::path& path) {
  std::vector<std::string> texts;
  TextSource::from_path(path).for_each(
      [&](const std::string&, std::string_view text) { texts.emplace_back(text); });
  return texts;
}

}  // namespace tessera::cli
