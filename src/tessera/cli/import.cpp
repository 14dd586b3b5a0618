// tessera import --from KIND --weights F.safetensors --out DIR, and tessera export

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/checkpoint/model_directory.h"
#include "tessera/cli/program.h"
#include "tessera/data/tokenizer.h"

namespace tessera::cli {
namespace {

std::string formats() {
  return fmt::format("{}", fmt::join(weight_format_names(), " | "));
}

struct ImportOptions {
  std::string from, weights, out, tokenizer;
  std::map<std::string, int64_t> sizes;
  int64_t heads = 0, window = 0;
};

void run_import(ImportOptions options) {
  if (options.heads > 0) options.sizes["heads"] = options.heads;
  if (options.window > 0) options.sizes["window"] = options.window;
  const ImportedModel imported = import_weights(options.from, options.weights, options.sizes);
  const std::filesystem::path out = options.out;
  if (!options.tokenizer.empty()) {
    const Tokenizer tokenizer = Tokenizer::load(options.tokenizer);
    if (tokenizer.vocabulary_size() > imported.model->vocabulary())
      throw UsageError("--tokenizer has {} tokens, the model only {}", tokenizer.vocabulary_size(),
                       imported.model->vocabulary());
    tokenizer.save(out / "tokenizer.json");
  }
  save_model(out, *imported.model, imported.format);
  fmt::print("{}: {}, {} parameters\n", options.out, imported.model->kind(),
             imported.model->parameter_count());
}

struct ExportOptions {
  std::string model, to, out;
};

void run_export(const ExportOptions& options) {
  const auto model = load_model(options.model);
  const auto source = source_of_model(options.model);
  if (options.to.empty() && !source)
    throw UsageError("--to is needed: {} was not imported from another format", options.model);
  const ForeignFormat format = options.to.empty() ? *source : ForeignFormat{options.to, ""};
  export_weights(format, *model, options.out);
  fmt::print("{}: {} parameters as {}\n", options.out, model->parameter_count(), format.name);
}

}  // namespace

void add_import(CLI::App& program) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* verb = program.add_subcommand(
      "import", "Take over weights of the reference implementations or of GPT-2");
  verb->add_option("--from", options->from, "Whose state dict: " + formats())->required();
  verb->add_option("--weights", options->weights, "safetensors file with the state dict")
      ->required();
  verb->add_option("--out", options->out, "Model directory to write")->required();
  verb->add_option("--tokenizer", options->tokenizer, "Tokenizer to put beside the model");
  verb->add_option("--heads", options->heads, "Where neither metadata nor shapes tell")
      ->check(CLI::PositiveNumber);
  verb->add_option("--window", options->window, "Where neither metadata nor shapes tell")
      ->check(CLI::PositiveNumber);
  verb->callback([options] { run_import(*options); });
}

void add_export(CLI::App& program) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* verb =
      program.add_subcommand("export", "Write a model under another implementation's names");
  verb->add_option("--model", options->model, "Model directory")->required();
  verb->add_option("--to", options->to, "Whose names: " + formats() + " (as imported)");
  verb->add_option("--out", options->out, "safetensors file to write")->required();
  verb->callback([options] { run_export(*options); });
}

}  // namespace tessera::cli
