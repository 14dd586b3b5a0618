// tessera data text: the text that training takes when none is named, as a file or as many

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "program/jobs/document_files.h"
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

/// Each document as a text file of its own below a new folder; returns their bytes.
size_t write_documents(const TextSource& source, const std::string& folder) {
  constexpr std::string_view kEnd = ".txt";
  std::vector<std::string> ids;
  for (size_t document = 0; document < source.documents(); ++document) {
    const std::string id = source.id(document);
    ids.push_back(id.ends_with(kEnd) ? id : id + std::string(kEnd));
  }
  const auto text_of = [&](size_t document) {
    std::string text;
    source.visit(document, [&](const std::string&, std::string_view read) { text = read; });
    return text;
  };
  const auto written = jobs::write_documents(folder, ids, text_of, [&](int64_t, int64_t) {
    InterruptGuard::stop_if_interrupted(folder + " was not written: interrupted");
  });
  say_renamed(written.renamed);
  return written.bytes;
}

void run_text(const TextOptions& options) {
  if (options.out.empty() == options.documents.empty())
    throw UsageError("data text: give either --out FILE or --documents FOLDER");
  if (options.path.empty() && !options.suffix.empty())
    throw UsageError("data text: --suffix chooses among the files of a folder; name the folder");
  const bool joins = !options.out.empty();
  const std::string& place = joins ? options.out : options.documents;
  check_not_input(joins ? "--out" : "--documents", place, {options.path},
                  joins ? options.suffix : "");
  const TextSource source = options.path.empty()
                                ? TextSource::automatic("runs/cache")
                                : TextSource::from_path(options.path, options.suffix);
  const InterruptGuard guard;
  const size_t bytes = joins ? write_joined(source, place) : write_documents(source, place);
  fmt::print("{}: {}, {} bytes\n", place, source.description(), bytes);
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
              "Write each document to a file of its own below this new folder instead");
  text.run([options] { run_text(*options); });
  add_task_data(verb);
}

}  // namespace tessera::cli
