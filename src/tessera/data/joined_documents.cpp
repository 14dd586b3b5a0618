#include "tessera/data/joined_documents.h"

#include <algorithm>

#include "tessera/data/tokenizer.h"

namespace tessera {
namespace {

/// Where the next separator stands alone in its line, from `begin` on; the end of the text where
/// there is none.
size_t next_separator(std::string_view text, size_t begin) {
  for (size_t found = text.find(kEndOfTextName, begin); found != std::string_view::npos;
       found = text.find(kEndOfTextName, found + 1)) {
    const size_t end = found + kEndOfTextName.size();
    const bool begins_line = found == 0 || text[found - 1] == '\n';
    const bool ends_line =
        end == text.size() || text[end] == '\n' || text.substr(end).starts_with("\r\n");
    if (begins_line && ends_line) return found;
  }
  return text.size();
}

}  // namespace

void for_each_document(std::string_view text,
                       const std::function<void(std::string_view document)>& visit) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t separator = next_separator(text, begin);
    std::string_view document = text.substr(begin, separator - begin);
    if (separator < text.size()) {
      if (document.ends_with('\n')) document.remove_suffix(1);
      if (document.ends_with('\r')) document.remove_suffix(1);
    }
    if (!document.empty()) visit(document);
    const size_t line_end = text.find('\n', std::min(separator, text.size()));
    begin = line_end == std::string_view::npos ? text.size() : line_end + 1;
  }
}

std::string with_separator(std::string_view document) {
  std::string text(document);
  text += '\n';
  text += kEndOfTextName;
  text += '\n';
  return text;
}

}  // namespace tessera
