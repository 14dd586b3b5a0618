// tessera data text: the text that training takes when none is named, as a file

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/cli/program.h"
#include "tessera/data/text_source.h"

namespace tessera::cli {
namespace {

struct TextOptions {
  std::string path, suffix, out, cache = "runs/cache";
};

void run_text(const TextOptions& options) {
  const TextSource source = options.path.empty()
                                ? TextSource::automatic(options.cache)
                                : TextSource::from_path(options.path, options.suffix);
  AtomicFile file(options.out);
  size_t bytes = 0;
  source.for_each([&](const std::string&, std::string_view text) {
    file.write(text);
    bytes += text.size();
  });
  file.commit();
  fmt::print("{}: {}, {} bytes\n", options.out, source.description(), bytes);
}

}  // namespace

void add_data(CLI::App& program) {
  CLI::App* verb = program.add_subcommand("data", "Make the data of a task");
  verb->require_subcommand(1);
  auto options = std::make_shared<TextOptions>();
  CLI::App* text =
      verb->add_subcommand("text", "Real English text: a file, a folder, or what the machine has");
  text->add_option("path", options->path,
                   "File or folder; without it the King James Bible, CMake's manual or the "
                   "licenses, the first that is there");
  text->add_option("--suffix", options->suffix, "Of a folder's files, only those that end so");
  text->add_option("--out", options->out, "The text file to write")->required();
  text->callback([options] { run_text(*options); });
}

}  // namespace tessera::cli
