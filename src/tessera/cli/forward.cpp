// tessera forward --model DIR --input X.safetensors --output Y.safetensors [--gradients]

#include "tessera/infer/forward.h"

#include "tessera/cli/program.h"

namespace tessera::cli {

void add_forward(CLI::App& program) {
  struct Options {
    std::string model, input, output, names = "own";
    bool gradients = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = program.add_subcommand(
      "forward", "Run a model on given tensors and write every output: for parity and debugging");
  verb->add_option("--model", options->model, "Model directory")->required();
  verb->add_option("--input", options->input, "safetensors with idx [B, T] and targets [B, T]")
      ->required();
  verb->add_option("--output", options->output,
                   "safetensors to write: logits, loss, grad.<parameter>")
      ->required();
  verb->add_flag("--gradients", options->gradients, "The gradient of the loss as well");
  verb->add_option("--names", options->names,
                   "Names of the gradients: own, or source, those that the model was imported with")
      ->capture_default_str();
  verb->callback([options] {
    run_forward(
        options->model, options->input, options->output,
        {options->gradients, config::enum_value<ParameterNames>(options->names, "--names")});
  });
}

}  // namespace tessera::cli
