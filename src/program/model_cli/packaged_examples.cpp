#include "program/model_cli/packaged_examples.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "lab/task/stories/story_files.h"
#include "program/jobs/store_files.h"
#include "tessera/base/error.h"
#include "tessera/store/memo_writer.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSeed = 1;  // of the stories that the model was trained on

fs::path new_temporary_folder() {
  std::error_code missing;
  const fs::path above = fs::temp_directory_path(missing);
  if (missing) throw SystemError("TMPDIR, the folder for temporary files", "open", missing.value());
  std::string name = (above / "tessera-examples-XXXXXX").native();
  if (::mkdtemp(name.data()) == nullptr) throw SystemError(name, "create", errno);
  return name;
}

}  // namespace

fs::path packaged_model() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  for (const char* place : {"models/stories", "../share/tessera/models/stories"})
    if (const fs::path folder = program / place; fs::exists(folder / "config.json"))
      return folder.lexically_normal();
  throw UsageError(
      "--model is needed: the model that comes with Tessera is neither in {0}/models nor in "
      "{0}/../share/tessera/models",
      program.native());
}

ExampleStore::ExampleStore() : above_(new_temporary_folder()) {}

ExampleStore::ExampleStore(const fs::path& model) : ExampleStore() {
  jobs::Create create;
  create.tokenizer = (model / "tokenizer.json").native();
  create.run(folder(), {});
  store::MemoWriter writer(folder());
  int number = 0;
  const auto memorize = [&](const std::string&, std::string_view text) {
    const std::string_view sentence = text.substr(0, text.find_first_of(".!?") + 1);
    writer.memorize(fmt::format("{}. {}", ++number, sentence), text, store::Duplicates::kRefuse);
  };
  task::stories::story_source(kStories, kSeed).for_each(memorize);
  writer.checkpoint();
}

ExampleStore::~ExampleStore() {
  std::error_code ignored;
  fs::remove_all(above_, ignored);
}

}  // namespace tessera::cli
