#include "program/model_cli/model_verbs.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/store/store_token_memory.h"
#include "tessera/tensor/device.h"
#include "tessera/tensor/manifest.h"
#include "tessera/train/processes.h"

namespace tessera::cli {

std::filesystem::path weights_in(const std::filesystem::path& model) {
  return model / "model.safetensors";
}

void add_placement(Verb& verb, Placement& placement) {
  verb.option("--weights", placement.weights,
              "Numbers in which the matrices are kept and read; those of the directory unless "
              "given. bf16 takes half the memory of float32, int8 about a quarter");
  verb.option(
      "--pairs", placement.pairs,
      "Numbers in which the memories keep the pairs that they store (float32 unless given)");
  verb.option("--device", placement.device, option_help(kDeviceHelp));
}

std::unique_ptr<const TokenMemory> store_memory(const ModelFolder& folder, const std::string& model,
                                                const std::string& store) {
  if (store.empty()) return nullptr;
  return std::make_unique<store::StoreTokenMemory>(store, model, folder.tokenizer);
}

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
