#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class FileFormat;

/// Documents of text from files, a folder or what the machine has. Documents are read one at a
/// time, memory-mapped, and must be UTF-8 without zero bytes. Of pages in HTML and of PDF files it
/// is their text, and each line of JSON lines is a document.
class TextSource {
 public:
  /// A file is one document, but for JSON lines; in a folder every regular file below it with the
  /// given suffix ("": any) is read, in the order of their paths, hidden and empty ones and links
  /// left out. plain: every file as it is. Throws SystemError; DataError if there is no text, or a
  /// line is no text; UsageError on a suffix for a file.
  static TextSource from_path(const std::filesystem::path& path, const std::string& suffix = "",
                              bool plain = false);

  /// The first that this machine has: the King James Bible (Debian's bible-kjv; its 66 books are
  /// the documents), CMake's manual, the common licenses of Debian. The Bible's text is kept in
  /// `cache_folder` as the program prints it, so that it need not be installed next time.
  static TextSource automatic(const std::filesystem::path& cache_folder);

  /// Documents 0, 1, 2, … that a function makes, each time they are asked for; description: "20000
  /// generated stories".
  using Generator = std::function<std::string(size_t document)>;
  static TextSource generated(std::string description, size_t documents, Generator generate);

  /// What the program `bible` prints, "Ge1:1 In the beginning …" line by line, as 66 documents: one
  /// line per verse, references left out, an empty line between chapters. Throws DataError naming
  /// the line.
  static TextSource from_bible(std::string_view printed, const std::string& source);

  /// "King James Bible (bible-kjv), 66 documents": one line for the user.
  const std::string& description() const { return description_; }
  size_t documents() const { return generate_ ? generated_ : documents_.size(); }
  /// Of all documents together, of files as they are. Generated ones are made to be counted. Throws
  /// std::filesystem::filesystem_error where a file is gone.
  uint64_t bytes() const;
  /// Of a document: the path of a file, of a JSON line "PATH:ID", the Bible's abbreviation of a
  /// book, "document 7".
  std::string name(size_t document) const;
  /// The same without the folder that was read: the path within it, of a file alone its file name.
  std::string id(size_t document) const;

  /// Hands over each document's name and text; both are gone after the call. The text of a
  /// file of at most 1 GiB is a copy, so that the file may change meanwhile. Throws SystemError;
  /// DataError with the byte offset where a document is not text, and where a JSON line is not the
  /// one that was listed.
  using Visitor = std::function<void(const std::string& name, std::string_view text)>;
  void for_each(const Visitor& visit) const;
  /// One document alone.
  void visit(size_t document, const Visitor& visit) const;

 private:
  struct Document {
    std::string name;
    std::filesystem::path path = {};  // empty: the text is here
    std::string text = {};
    FileFormat format{};
    uint64_t begin = 0, end = 0;  // of a JSON line
    std::string checksum = {};    // of its bytes
  };

  /// The documents of a file.
  void add_file(const std::filesystem::path& path, FileFormat format);

  std::string description_;
  std::filesystem::path folder_;  // that was read; empty: names have none
  std::vector<Document> documents_;
  size_t generated_ = 0;
  Generator generate_;  // none: the documents are those above
};

/// The text of a file, or of every file of a folder, all in memory. Throws as TextSource does.
std::vector<std::string> read_texts(const std::filesystem::path& path);

/// Many documents in one file, as TinyStories has them (Eldan & Li 2023): after each document a
/// line with the name of the end of text alone, "<|endoftext|>". What stands in a line with other
/// characters is ordinary text. A file without such a line is one document.
///
/// Hands over each document, without the line end before the separator; documents without a
/// character are left out.
void for_each_document(std::string_view text,
                       const std::function<void(std::string_view document)>& visit);

/// The same of all texts of a source. What a DataError of `visit` says then begins with the text's
/// name and, where that is not the text's beginning, the document's place.
void for_each_document(const TextSource& source,
                       const std::function<void(std::string_view document)>& visit);

/// The document with its separator, as it stands in such a file.
std::string with_separator(std::string_view document);

}  // namespace tessera
