// tessera forward --model DIR --input X.safetensors --output Y.safetensors [--gradients]

#include "tessera/infer/forward.h"

#include <fmt/ranges.h>

#include "program/cli/program.h"
#include "program/model_cli/model_verbs.h"
#include "tessera/base/safetensors.h"
#include "tessera/tensor/device.h"

namespace tessera::cli {
namespace {

void print_tensors(const std::string& path) {
  const auto file = safetensors::File::open(path);
  for (const auto& [name, tensor] : file.tensors())
    fmt::print("{}: {} {} [{}]\n", path, name, safetensors::dtype_name(tensor.dtype),
               fmt::join(tensor.shape, ", "));
}

}  // namespace

void add_forward(Verb& program) {
  struct Options {
    std::string model, input, output;
    ForwardOptions forward;
  };
  auto options = std::make_shared<Options>();
  Verb& verb = program.verb(
      "forward", "Run a model on given tensors and write every output, to compare implementations");
  verb.option("--model", options->model, "Model directory").required();
  verb.option(
          "--input", options->input,
          "safetensors with idx and targets [B, T] or, for a model of vectors, x [T, B, in] and "
          "targets [T, B, out], or samples of a task")
      .required();
  verb.option("--output", options->output,
              "safetensors to write: logits or y and the last state, loss, grad.<parameter>")
      .required();
  verb.option("--device", options->forward.device, option_help(kDeviceHelp));
  verb.flag("--gradients", options->forward.gradients, "Also write the gradient of the loss");
  verb.option(
      "--names", options->forward.names,
      "Names of the gradients: our own, or those of the source that the model was imported from");
  verb.run([options] {
    check_not_input("--output", options->output,
                    {options->input, weights_in(options->model).native()});
    run_forward(options->model, options->input, options->output, options->forward);
    print_tensors(options->output);
  });
}

}  // namespace tessera::cli
