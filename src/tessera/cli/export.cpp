// tessera export --model DIR --out FILE

#include <fmt/format.h>

#include <optional>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/cli/program.h"

namespace tessera::cli {
namespace {

struct ExportOptions {
  std::string model, out;
  std::optional<ForeignKind> to;
};

void run_export(const ExportOptions& options) {
  const auto model = load_model(options.model);
  const auto source = source_of_model(options.model);
  if (!options.to && !source)
    throw UsageError("--to is needed: {} was not imported from another format", options.model);
  const ForeignFormat format = options.to ? ForeignFormat{*options.to, ""} : *source;
  export_weights(format, *model, options.out);
  fmt::print("{}: {} parameters as {}\n", options.out, model->parameter_count(),
             config::enum_name(format.kind));
}

}  // namespace

void add_export(Verb& program) {
  auto options = std::make_shared<ExportOptions>();
  Verb& verb = program.verb("export",
                            "Write the weights of a model in the format of another implementation");
  verb.option("--model", options->model, "Model directory").required();
  verb.option("--to", options->to,
              "The format; without it, the one that the model was imported from");
  verb.option("--out", options->out, "safetensors file to write").required();
  verb.run([options] { run_export(*options); });
}

}  // namespace tessera::cli
