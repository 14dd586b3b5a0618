#include "tessera/data/text_source.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <utility>

#include "tessera/base/checksum.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/number.h"
#include "tessera/base/utf8.h"
#include "tessera/data/command.h"
#include "tessera/data/file_texts.h"
#include "tessera/data/tokenizer.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostCopied = int64_t{1} << 30;  // bytes
constexpr const char* kBibleProgram = "/usr/bin/bible";
constexpr const char* kBibleCommand = "exec /usr/bin/bible -f 'Gen1:1-Rev22:21'";
constexpr const char* kBibleFile = "bible-kjv.txt";
constexpr const char* kLicenses = "/usr/share/common-licenses";

/// The Help folder of the newest CMake there is.
std::optional<fs::path> cmake_manual() {
  std::optional<fs::path> newest;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/share", ignored)) {
    if (!entry.path().filename().native().starts_with("cmake-")) continue;
    const fs::path help = entry.path() / "Help";
    if (fs::is_directory(help, ignored) && (!newest || help > *newest)) newest = help;
  }
  return newest;
}

std::vector<fs::path> text_files(const fs::path& folder, const std::string& suffix) {
  std::vector<fs::path> files;
  std::error_code failure;
  for (auto entry = fs::recursive_directory_iterator(folder);
       entry != fs::recursive_directory_iterator();) {
    const fs::path path = entry->path();
    const std::string name = path.filename();
    if (name.starts_with('.')) {
      if (entry->is_directory()) entry.disable_recursion_pending();
    } else if (!entry->is_symlink() && entry->is_regular_file() && name.ends_with(suffix) &&
               entry->file_size() > 0) {
      files.push_back(path);
    }
    entry.increment(failure);
    if (failure) throw SystemError(path.native(), "read", failure.value());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// "Ge1:1 In the…" taken apart.
struct Verse {
  std::string_view book, chapter, text;
};

Verse parse_verse(std::string_view line, size_t number, const std::string& source) {
  const size_t space = line.find(' ');
  const std::string_view reference = line.substr(0, space);
  const size_t colon = reference.find(':');
  const size_t book_end = reference.substr(0, colon).find_last_not_of("0123456789");
  if (space == std::string_view::npos || colon == std::string_view::npos ||
      book_end == std::string_view::npos || book_end + 1 == colon)
    throw DataError(source, "line {} does not begin with a verse such as 'Ge1:1 '", number);
  return {reference.substr(0, book_end + 1), reference.substr(book_end + 1, colon - book_end - 1),
          line.substr(space + 1)};
}

/// Bytes [begin, end) of a file, or fewer where it has become shorter.
std::string part_of(const fs::path& path, uint64_t begin, uint64_t end) {
  std::string part(end - begin, '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(part.data(), std::ssize(part));
  part.resize(file.gcount());
  return part;
}

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

TextSource TextSource::from_path(const fs::path& path, const std::string& suffix, bool plain) {
  TextSource source;
  source.folder_ = fs::is_directory(path) ? path : path.parent_path();
  const auto add = [&](const fs::path& file) {
    source.add_file(file, plain ? FileFormat::kPlain : format_of(file));
  };
  if (!fs::is_directory(path)) {
    check_argument(suffix.empty() || !fs::exists(path),
                   "{} is a file; a suffix ('{}') chooses among the files of a folder",
                   path.native(), suffix);
    if (MappedFile(path).bytes().empty()) throw DataError(path.native(), "is empty");
    add(path);
    if (source.documents_.empty())
      throw DataError(path.native(), "holds no document: its lines are empty");
    source.description_ = path.native();
    return source;
  }
  for (const auto& file : text_files(path, suffix)) add(file);
  if (source.documents_.empty())
    throw DataError(path.native(), "holds no text: no file{} below it",
                    suffix.empty() ? "" : " that ends in " + suffix);
  source.description_ =
      fmt::format("{}, {}", path.native(), counted(std::ssize(source.documents_), "document"));
  return source;
}

void TextSource::add_file(const fs::path& path, FileFormat format) {
  if (format != FileFormat::kJsonLines) {
    documents_.push_back({path.native(), path, {}, format});
    return;
  }
  const MappedFile file(path);
  for (const JsonLine& line : json_lines_of(file.text(), path.native()))
    documents_.push_back({fmt::format("{}:{}", path.native(), line.name),
                          path,
                          {},
                          format,
                          line.begin,
                          line.end,
                          checksum(file.text().substr(line.begin, line.end - line.begin))});
}

TextSource TextSource::automatic(const fs::path& cache_folder) {
  const fs::path bible = cache_folder / kBibleFile;
  if (!fs::exists(bible) && fs::exists(kBibleProgram))
    if (const auto printed = output_of(kBibleCommand); printed.status == 0 && !printed.text.empty())
      write_file(bible, printed.text);
  if (fs::exists(bible)) return from_bible(read_file(bible), bible.native());

  TextSource source;
  if (const auto manual = cmake_manual()) {
    source = from_path(*manual, ".rst");
    source.description_ = "CMake's manual: " + source.description_;
  } else if (fs::is_directory(kLicenses)) {
    source = from_path(kLicenses);
    source.description_ = "Debian's common licenses: " + source.description_;
  } else {
    throw DataError("text",
                    "none found on this machine; name a file or a folder, or install bible-kjv");
  }
  return source;
}

TextSource TextSource::from_bible(std::string_view printed, const std::string& source_name) {
  TextSource source;
  std::string_view chapter;
  size_t number = 0;
  for (std::string_view rest = printed; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const Verse verse = parse_verse(rest.substr(0, end), ++number, source_name);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (source.documents_.empty() || source.documents_.back().name != verse.book) {
      source.documents_.push_back({std::string(verse.book)});
    } else if (verse.chapter != chapter) {
      source.documents_.back().text += '\n';
    }
    chapter = verse.chapter;
    source.documents_.back().text.append(verse.text) += '\n';
  }
  if (source.documents_.empty()) throw DataError(source_name, "is empty");
  source.description_ =
      fmt::format("King James Bible (bible-kjv), {} documents", source.documents());
  return source;
}

TextSource TextSource::generated(std::string description, size_t documents, Generator generate) {
  check_argument(documents > 0 && generate, "TextSource::generated: there must be a document");
  TextSource source;
  source.description_ = std::move(description);
  source.generated_ = documents;
  source.generate_ = std::move(generate);
  return source;
}

std::string TextSource::name(size_t document) const {
  return generate_ ? fmt::format("document {}", document) : documents_.at(document).name;
}

std::string TextSource::id(size_t document) const {
  const std::string name = this->name(document);
  return folder_.empty() ? name : fs::path(name).lexically_relative(folder_).native();
}

uint64_t TextSource::bytes() const {
  uint64_t sum = 0;
  for (size_t document = 0; document < generated_; ++document) sum += generate_(document).size();
  for (const Document& document : documents_)
    sum += document.path.empty()                       ? document.text.size()
           : document.format == FileFormat::kJsonLines ? document.end - document.begin
                                                       : fs::file_size(document.path);
  return sum;
}

void TextSource::for_each(const Visitor& visit) const {
  for (size_t document = 0; document < documents(); ++document) this->visit(document, visit);
}

void TextSource::visit(size_t number, const Visitor& visit) const {
  if (generate_) return visit(name(number), generate_(number));
  const Document& document = documents_.at(number);
  const auto hand_over = [&](std::string_view text) {
    utf8::check_text(text, document.name);
    visit(document.name, text);
  };
  if (document.path.empty()) return hand_over(document.text);
  switch (document.format) {
    case FileFormat::kPlain:
      if (file_bytes(document.path) > kMostCopied)
        return hand_over(MappedFile(document.path).text());
      return hand_over(read_file(document.path));
    case FileFormat::kHtml:
      return hand_over(text_of_html(read_file(document.path), document.name));
    case FileFormat::kPdf:
      return hand_over(text_of_pdf(document.path));
    case FileFormat::kJsonLines:
      const std::string line = part_of(document.path, document.begin, document.end);
      if (checksum(line) != document.checksum)
        throw DataError(document.name,
                        "has changed since the file was listed; run the command again");
      return hand_over(text_of_json_line(line, document.name));
  }
}

std::vector<std::string> read_texts(const std::filesystem::path& path) {
  std::vector<std::string> texts;
  TextSource::from_path(path).for_each(
      [&](const std::string&, std::string_view text) { texts.emplace_back(text); });
  return texts;
}

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
    const size_t line_end = text.find('\n', separator);
    begin = line_end == std::string_view::npos ? text.size() : line_end + 1;
  }
}

void for_each_document(const TextSource& source,
                       const std::function<void(std::string_view document)>& visit) {
  source.for_each([&](const std::string& name, std::string_view text) {
    for_each_document(text, [&](std::string_view document) {
      try {
        visit(document);
      } catch (const DataError& error) {
        const auto begin = document.data() - text.data();
        throw DataError(name, "{}{}",
                        begin == 0 ? "" : fmt::format("document from byte {} on: ", begin),
                        error.what());
      }
    });
  });
}

std::string with_separator(std::string_view document) {
  return fmt::format("{}\n{}\n", document, kEndOfTextName);
}

}  // namespace tessera
