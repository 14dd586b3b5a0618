// Pages in HTML and files of JSON lines: the first bit says which.

#include <cstdint>
#include <cstdlib>

#include "tessera/base/error.h"
#include "tessera/base/utf8.h"
#include "tessera/data/file_texts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  const std::string_view file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1) == 0) {
    const std::string text = text_of_html(file, "input");
    if (utf8::valid_prefix(text) != text.size()) std::abort();
    return 0;
  }
  try {
    for (const JsonLine& line : json_lines_of(file, "input"))
      text_of_json_line(file.substr(line.begin, line.end - line.begin), "input");
  } catch (const DataError&) {
  }
  return 0;
}
