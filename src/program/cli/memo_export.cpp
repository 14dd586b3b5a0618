// tessera memo export STORE --out FILE

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "program/cli/memo_verbs.h"
#include "program/cli/program.h"
#include "tessera/store/memo_store.h"

namespace tessera::cli {
namespace {

struct MemoExportArguments {
  std::string store, out;
  bool json = false;
};

void run_memo_export(const MemoExportArguments& options) {
  const store::MemoStore store(options.store);
  store::export_memory(store, options.out);
  const auto bytes = std::filesystem::file_size(options.out);
  if (options.json)
    print_json({{"file", options.out}, {"bytes", bytes}});
  else
    fmt::print("{}: {}\n", options.out, readable_bytes(static_cast<double>(bytes)));
}

}  // namespace

void add_memo_export(Verb& memo) {
  auto options = std::make_shared<MemoExportArguments>();
  Verb& verb =
      memo.verb("export", "Write the memory, without the documents, as one safetensors file");
  add_store(verb, options->store);
  verb.option("--out", options->out, "The file to write").required();
  verb.flag("--json", options->json, "Print a JSON object");
  verb.run([options] { run_memo_export(*options); });
}

}  // namespace tessera::cli
