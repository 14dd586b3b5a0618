#include "program/jobs/document_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/new_folder.h"
#include "tessera/base/utf8.h"

namespace tessera::jobs {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 200;   // bytes of a file's name, of 255
constexpr size_t kLongestPath = 1900;  // of its path, of 4095; so it has less than 1000 folders

/// Whether it leads to a file below a folder, and nowhere else, that is found there again: hidden
/// files and folders are left out where a folder is read.
bool is_below(const fs::path& path) {
  return path.is_relative() && path.has_filename() && path.native().size() <= kLongestPath &&
         std::ranges::all_of(path, [](const fs::path& name) {
           return name.native().size() <= kLongestName && !name.native().starts_with('.');
         });
}

/// An id as the name of one file: a slash is %2F, a dot %2E.
fs::path one_name(const std::string& id) {
  std::string name;
  for (const char c : utf8::beginning_of(id, kLongestName))
    name += c == '/' ? "%2F" : c == '.' ? "%2E" : std::string(1, c);
  return std::string(utf8::beginning_of(name, kLongestName));
}

/// A file below a folder for each document: its id where that is the path of one that no other
/// document has.
std::vector<fs::path> files_of(const std::vector<std::string>& ids) {
  std::set<fs::path> files, folders;
  const auto is_taken = [&](const fs::path& path) {
    bool taken = files.contains(path) || folders.contains(path);
    for (fs::path above = path.parent_path(); !above.empty(); above = above.parent_path())
      taken |= files.contains(above);
    return taken;
  };
  std::map<fs::path, int64_t> alike;  // how often a name was wanted once it was taken
  std::vector<fs::path> paths;
  for (const std::string& id : ids) {
    fs::path path = fs::path(id).lexically_normal();
    if (!is_below(path) || is_taken(path)) path = one_name(id);
    for (const fs::path name = path; is_taken(path);) {
      path = name;
      path += ++alike[name] == 1 ? "~" : fmt::format("~{}", alike[name]);
    }
    files.insert(path);
    for (fs::path above = path.parent_path(); !above.empty(); above = above.parent_path())
      folders.insert(above);
    paths.push_back(std::move(path));
  }
  return paths;
}

/// Writes a document to a file of its own, which a disk may have under another name already.
void write_document(const std::string& id, const fs::path& path, std::string_view text) {
  try {
    write_new_file(path, text);
  } catch (const SystemError& error) {
    if (error.code() != EEXIST && error.code() != ENOTDIR) throw;
    throw SystemError(
        fmt::format("'{}' cannot be written: on this disk its file would be that of another "
                    "document, as the disk does not distinguish upper and lower case, or two ways "
                    "to write an accent; nothing is written, name a folder on another disk",
                    id),
        error.code());
  }
}

}  // namespace

WrittenDocuments write_documents(const fs::path& folder, const std::vector<std::string>& ids,
                                 const std::function<std::string(size_t document)>& text_of,
                                 const OnProgress& on_progress) {
  NewFolder made(folder);
  const std::vector<fs::path> files = files_of(ids);
  WrittenDocuments written;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string text = text_of(i);
    write_document(ids[i], made.path() / files[i], text);
    if (files[i] != fs::path(ids[i]).lexically_normal())
      written.renamed.emplace_back(ids[i], files[i]);
    written.bytes += text.size();
    on_progress(static_cast<int64_t>(i + 1), std::ssize(ids));
  }
  made.commit();
  return written;
}

}  // namespace tessera::jobs
