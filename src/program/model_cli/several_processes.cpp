#include "program/model_cli/several_processes.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/tensor/manifest.h"
#include "tessera/train/processes.h"

namespace tessera::cli {

std::unique_ptr<Processes> meet_processes(const Rendezvous& rendezvous) {
  if (rendezvous.count == 1) return nullptr;
  at::set_num_threads(std::max(1, at::get_num_threads() / static_cast<int>(rendezvous.count_here)));
  auto processes = std::make_unique<Processes>(rendezvous);
  const config::Json build = build_description();
  processes->require_equal("version",
                           config::Json{build.at("tessera"), build.at("revision")}.dump());
  return processes;
}

}  // namespace tessera::cli
