// Any bytes as a configuration in TOML: refused, or written and read again the same. The same bytes
// as what --set is given: refused, or set.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fuzz/seeds.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

using namespace tessera;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::write_seeds(*argc, *argv,
                    {{"tables",
                      "steps = 1_000  # a comment\nrate.first = 1e-3\n\"a.b\" = 'it is'\n[model]\n"
                      "kind = \"stm\"\nalpha = [0, 0.5, inf]\n[[task]]\nname = \"\"\"a\\u00e9\n"
                      "b\"\"\"\n[[task]]\ninner = {deep = {x = true}, y = '''z'''}\n"},
                     {"assignment", "train.learning_rate=[1e-3, {a = 0x1F}]"}});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryFolder folder(test::folder_in_memory());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::write(folder / "input", text);
  try {
    const std::string written = config::to_toml(config::read_toml(folder / "input"));
    fuzz::write(folder / "written", written);
    if (config::to_toml(config::read_toml(folder / "written")) != written) std::abort();
  } catch (const UsageError&) {
  }
  try {
    config::Json json = {{"train", {{"steps", 1}}}};
    config::set_from_text(json, std::string(text));
  } catch (const UsageError&) {
  }
  return 0;
}
