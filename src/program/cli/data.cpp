// tessera data text: the text that training takes when none is named, as a file or as many

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "program/cli/program.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/data/text_source.h"

namespace tessera::cli {
namespace {

struct TextOptions {
  std::string path, suffix, out, documents;
};

/// All documents as one file, each beginning in a line of its own; returns its bytes.
size_t write_joined(const TextSource& source, const std::string& path) {
  AtomicFile file(path);
  size_t bytes = 0;
  const auto write = [&](std::string_view text) {
    file.write(text);
    bytes += text.size();
  };
  bool in_line = false;  // the document before ends without a newline
  source.for_each([&](const std::string&, std::string_view text) {
    InterruptGuard::stop_if_interrupted(path + " was not written: interrupted");
    if (in_line && !text.empty()) write("\n");
    write(text);
    if (!text.empty()) in_line = !text.ends_with('\n');
  });
  file.commit();
  return bytes;
}

std::filesystem::path document_path(const std::filesystem::path& folder, const std::string& name) {
  std::filesystem::path file = std::filesystem::path(name).filename();
  if (file.extension() != ".txt") file += ".txt";
  return folder / file;
}

/// Each document as a file of its name in a folder; returns their bytes.
size_t write_documents(const TextSource& source, const std::filesystem::path& folder) {
  std::set<std::filesystem::path> paths;
  for (size_t i = 0; i < source.documents(); ++i)
    if (!paths.insert(document_path(folder, source.name(i))).second)
      throw UsageError("--documents: two documents would both be written to {}",
                       document_path(folder, source.name(i)).string());
  size_t bytes = 0;
  source.for_each([&](const std::string& name, std::string_view text) {
    InterruptGuard::stop_if_interrupted("interrupted before all documents were written");
    write_file(document_path(folder, name), text);
    bytes += text.size();
  });
  return bytes;
}

void run_text(const TextOptions& options) {
  if (options.out.empty() == options.documents.empty())
    throw UsageError("data text: give either --out FILE or --documents FOLDER");
  if (options.path.empty() && !options.suffix.empty())
    throw UsageError("data text: --suffix chooses among the files of a folder; name the folder");
  const TextSource source = options.path.empty()
                                ? TextSource::automatic("runs/cache")
                                : TextSource::from_path(options.path, options.suffix);
  const InterruptGuard guard;
  const size_t bytes = options.out.empty() ? write_documents(source, options.documents)
                                           : write_joined(source, options.out);
  fmt::print("{}: {}, {} bytes\n", options.out.empty() ? options.documents : options.out,
             source.description(), bytes);
}

}  // namespace

void add_data(Verb& program) {
  Verb& verb = program.verb("data", "Prepare the data of a task");
  auto options = std::make_shared<TextOptions>();
  Verb& text = verb.verb(
      "text", "English text: from a file, from a folder, or what is installed on this machine");
  text.option("path", options->path,
              "File or folder. Without it, the first of these that is installed: the King James "
              "Bible, CMake's manual, the texts of the licenses");
  text.option("--suffix", options->suffix,
              "Read only the files of a folder whose names end in this");
  text.option("--out", options->out,
              "Write the whole text to one file, in which each document begins in a new line; "
              "nothing else separates them");
  text.option("--documents", options->documents,
              "Write each document to a file of its own in this folder instead");
  text.run([options] { run_text(*options); });
  add_task_data(verb);
}

}  // namespace tessera::cli
