// tessera export --model DIR --out FILE

#include <fmt/format.h>

#include "tessera/base/error.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/cli/program.h"
#include "tessera/model/sequence_model.h"

namespace tessera::cli {
namespace {

struct ExportArguments {
  std::string model, to, out;
};

void run_export(const ExportArguments& options) {
  const auto model = load_sequence_model(options.model);
  const auto source = source_of_model(options.model);
  if (options.to.empty() && !source)
    throw UsageError("--to is needed: {} was not imported from another format", options.model);
  const ForeignFormat format = options.to.empty() ? *source : ForeignFormat{options.to, ""};
  export_weights(format, *model, options.out);
  fmt::print("{}: {} parameters as {}\n", options.out, model->parameter_count(), format.name);
}

}  // namespace

void add_export(Verb& program) {
  auto options = std::make_shared<ExportArguments>();
  Verb& verb = program.verb("export",
                            "Write the weights of a model in the format of another implementation");
  verb.option("--model", options->model, "Model directory").required();
  verb.option("--to", options->to,
              "The format; without it, the one that the model was imported from")
      .one_of(weight_format_names());
  verb.option("--out", options->out, "safetensors file to write").required();
  verb.run([options] { run_export(*options); });
}

}  // namespace tessera::cli
