#include "program/jobs/file_documents.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iostream>
#include <iterator>
#include <sstream>
#include <utility>

#include "program/jobs/glob.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/machine.h"
#include "tessera/base/utf8.h"
#include "tessera/data/file_texts.h"

namespace tessera::jobs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIgnoreFile = ".tesseraignore";

/// The globs of a folder's own file.
std::vector<std::string> globs_of(const fs::path& folder) {
  std::vector<std::string> globs;
  const fs::path path = folder / kIgnoreFile;
  if (!fs::exists(fs::symlink_status(path))) return globs;
  std::istringstream lines(read_file(path));
  if (lines.str().starts_with("\uFEFF")) lines.ignore(3);  // a byte order mark
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '!')
      throw DataError(path.native(),
                      "'{}' begins with !; files are only left out here, name them without it",
                      line);
    globs.push_back(line);
  }
  return globs;
}

bool matches(const std::vector<std::string>& globs, const fs::path& relative) {
  return std::ranges::any_of(globs, [&](std::string glob) {
    if (glob.ends_with('/')) glob.pop_back();
    if (glob.find('/') == std::string::npos) return glob_matches(glob, relative.filename());
    if (glob.starts_with('/')) glob.erase(0, 1);
    return glob_matches(glob, relative, FNM_PATHNAME);
  });
}

/// What is below a folder.
struct FolderContent {
  std::vector<std::pair<std::string, std::string>> files;  ///< path within the folder, path
  std::vector<std::string> passed_over;                    ///< these two as in a Listing
  std::vector<std::exception_ptr> unlisted;
};

/// Every regular file, in the order of the paths; hidden ones, links, the store itself and what is
/// excluded left out.
FolderContent files_below(const fs::path& folder, const ReadingRules& rules) {
  FolderContent content;
  auto& [files, passed_over, unlisted] = content;
  const auto is_listed = [&](const fs::path& path) {
    const bool listed = ::euidaccess(path.c_str(), R_OK | X_OK) == 0;
    if (!listed)
      unlisted.push_back(std::make_exception_ptr(SystemError(path.native(), "read", errno)));
    return listed;
  };
  if (!is_listed(folder)) return content;
  std::vector<std::string> globs = rules.exclude;
  for (auto& glob : globs_of(folder)) globs.push_back(std::move(glob));
  std::error_code failure;
  for (auto entry = fs::recursive_directory_iterator(folder);
       entry != fs::recursive_directory_iterator();) {
    const fs::path path = entry->path(), relative = path.lexically_relative(folder);
    const fs::file_type type = entry->symlink_status().type();  // links may lead nowhere
    const bool is_folder = type == fs::file_type::directory;
    const bool left_out = path.filename().native().starts_with('.') || matches(globs, relative) ||
                          (is_folder && fs::equivalent(path, rules.store, failure));
    if (is_folder && (left_out || !is_listed(path)))
      entry.disable_recursion_pending();
    else if (!left_out && type == fs::file_type::regular)
      files.emplace_back(relative.native(), path.native());
    else if (!left_out && (!is_folder || fs::is_empty(path)))
      passed_over.push_back(relative.native());
    entry.increment(failure);
    if (failure) throw SystemError(path.native(), "read", failure.value());
  }
  if (files.empty())
    unlisted.push_back(std::make_exception_ptr(
        DataError(folder.native(), "holds no text: there is no file below it")));
  std::ranges::sort(files);
  return content;
}

/// The documents of a file. What is wrong with one is said when it is looked at.
std::vector<FileDocument> documents_in(const std::string& id, const std::string& path, bool plain) {
  if (!plain && format_of(path) == FileFormat::kJsonLines) try {
      const auto source = std::make_shared<const TextSource>(TextSource::from_path(path));
      std::vector<FileDocument> lines;
      for (size_t n = 0; n < source->documents(); ++n)
        lines.push_back(
            {id + source->name(n).substr(path.size()), source->name(n), {}, plain, source, n});
      return lines;
    } catch (const std::runtime_error&) {
    }
  return {{id, path, {}, plain}};
}

/// Why there is nothing of this name, as far as one may see.
std::optional<SystemError> why_not_there(const std::string& path) {
  try {
    if (is_there(path)) return std::nullopt;
  } catch (const SystemError& error) {
    return error;
  }
  return SystemError(path, "open", ENOENT);
}

}  // namespace

std::string read_input(const std::string& path) {
  if (path != "-") return read_file(path);
  const int64_t limit = physical_memory() / 4;
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (std::cin.read(buffer.data(), buffer.size()) || std::cin.gcount() > 0) {
    text.append(buffer.data(), std::cin.gcount());
    if (std::ssize(text) > limit)
      throw DataError(name_of_input(path),
                      "has more than {} bytes, a quarter of the memory of this machine; put it "
                      "into a file",
                      limit);
  }
  return text;
}

std::string name_of_input(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

void FileDocument::visit(const TextSource::Visitor& visit) const {
  if (text) {
    utf8::check_text(*text, name);
    return visit(name, *text);
  }
  if (source) return source->visit(number, visit);
  TextSource::from_path(name, "", plain).visit(0, visit);
}

Listing listing_of(const std::string& path, const ReadingRules& rules) {
  Listing listing;
  if (const auto why = why_not_there(path)) {
    listing.unlisted.push_back(std::make_exception_ptr(*why));
  } else if (!fs::is_directory(path)) {
    listing.documents = documents_in(fs::path(path).filename(), path, rules.plain);
  } else {
    FolderContent content = files_below(path, rules);
    listing.passed_over = std::move(content.passed_over);
    listing.unlisted = std::move(content.unlisted);
    for (const auto& [id, file] : content.files)
      std::ranges::move(documents_in(id, file, rules.plain), std::back_inserter(listing.documents));
  }
  return listing;
}

std::vector<FileDocument> documents_of(const std::vector<std::string>& paths,
                                       const ReadingRules& rules) {
  const auto is_empty = [](const FileDocument& document) {
    return !document.source && file_bytes(document.name) == 0;
  };
  std::vector<FileDocument> documents;
  for (const std::string& path : paths) {
    Listing listing = listing_of(path, rules);
    if (!listing.unlisted.empty()) std::rethrow_exception(listing.unlisted.front());
    if (fs::is_directory(path)) std::erase_if(listing.documents, is_empty);
    if (listing.documents.empty())
      throw DataError(path, "holds no text: every file below it is empty");
    std::ranges::move(listing.documents, std::back_inserter(documents));
  }
  return documents;
}

}  // namespace tessera::jobs
