#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/data/command.h"

namespace tessera {

/// How a file holds text, by the end of its name, in small letters or capitals.
///   kPlain      the file is the text
///   kHtml       .html, .htm, .xhtml: a page
///   kJsonLines  .jsonl, .ndjson: an object in each line, whose field "text" is a text
///   kPdf        .pdf
enum class FileFormat { kPlain, kHtml, kJsonLines, kPdf };
FileFormat format_of(const std::filesystem::path& path);

/// What a reader of a page sees, in UTF-8: its title and its words, without scripts and styles.
/// Blocks (paragraphs, headings, items, rows) have lines of their own, cells of a row a tab between
/// them; other white space is one space, but as it stands in `pre`; all lines end in "\n".
/// Whatever the bytes are, they are a page; those that are not UTF-8 are of the character set that
/// the page names, and what is not of that one either becomes U+FFFD. Throws DataError where the
/// page has 2^31 bytes or more.
std::string text_of_html(std::string_view page, const std::string& name);

/// What Debian's pdftotext prints of a file. Throws DataError where it is not installed or cannot
/// read the file within the limits; Interrupted where Ctrl-C ended it.
std::string text_of_pdf(const std::filesystem::path& path, const CommandLimits& limits = {});

/// A line of a file of JSON lines.
struct JsonLine {
  std::string name;             ///< its field "id", a text or a number; else its number from 1
  uint64_t begin = 0, end = 0;  ///< its bytes in the file
};

/// The lines of such a file that are not empty. Throws DataError, naming the line, where one is not
/// an object with a field "text".
std::vector<JsonLine> json_lines_of(std::string_view file, const std::string& name);

/// The text of one of its lines.
std::string text_of_json_line(std::string_view line, const std::string& name);

}  // namespace tessera
