// tessera --version

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "program/cli/program.h"
#include "program/model_cli/model_verbs.h"
#include "tessera/tensor/manifest.h"

namespace tessera::cli {

void add_version(Verb& program) {
  const auto json = std::make_shared<bool>(false);
  const auto print = [json] {
    if (!*json) return print_version();
    fmt::print("{}\n", build_description().dump(2));
  };
  const Option version = program.flag("--version", print, "Print the version");
  program.flag("--json", *json, "With --version: also the libraries and the machine")
      .needs(version);
}

}  // namespace tessera::cli
