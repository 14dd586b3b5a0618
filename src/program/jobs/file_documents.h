#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/data/text_source.h"

/// Which documents files and folders hold: one rule for all jobs that take them from a person.
namespace tessera::jobs {

/// All that a file holds or, for "-", standard input. Throws SystemError, and DataError where
/// standard input has more bytes than a quarter of this machine's memory.
std::string read_input(const std::string& path);
/// What messages call it: the path, or "standard input".
std::string name_of_input(const std::string& path);

/// A text that a file holds. Only that of standard input is in memory.
struct FileDocument {
  std::string id, name;  ///< name: where it comes from
  std::optional<std::string> text = {};
  bool plain = false;                                  ///< whether a file is read as it is
  std::shared_ptr<const TextSource> source = nullptr;  ///< of a line of a file of JSON lines
  size_t number = 0;                                   ///< of the document in `source`

  /// Throws as TextSource::visit() does, also where standard input is not a text.
  void visit(const TextSource::Visitor& visit) const;
};

/// Help of the field of a request that names what is left out of folders.
constexpr std::string_view kExcludeHelp =
    "GLOB: leave out files and folders below a folder, by name or, with a /, by path; the lines of "
    "a file .tesseraignore in a folder that is named do the same";

/// How files and folders are read.
struct ReadingRules {
  std::vector<std::string> exclude = {};  ///< as kExcludeHelp says
  bool plain = false;                     ///< every file as it is
  std::filesystem::path store = {};       ///< this folder is left out, too
};

/// What a file or a folder holds.
struct Listing {
  std::vector<FileDocument> documents;
  std::vector<std::string> passed_over;  ///< paths as ids have them: links, and folders of nothing
  std::vector<std::exception_ptr> unlisted;  ///< what cannot be listed: SystemError, DataError
};

/// The document of a file, or those of its JSON lines; of a folder those of every regular file
/// below it, in the order of the paths. Left out are hidden files, links, the store and what is
/// excluded. What is wrong with a document is said when it is looked at. Throws as read_file()
/// does where a file .tesseraignore cannot be read, and DataError where it is wrong.
Listing listing_of(const std::string& path, const ReadingRules& rules);

/// The documents of all these, empty files of folders left out. Throws what cannot be listed, and
/// DataError where one of the folders then holds nothing.
std::vector<FileDocument> documents_of(const std::vector<std::string>& paths,
                                       const ReadingRules& rules);

}  // namespace tessera::jobs
