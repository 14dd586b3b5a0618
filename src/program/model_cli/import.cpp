// tessera import --from KIND --weights F.safetensors --out DIR

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "program/cli/program.h"
#include "program/model_cli/model_verbs.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/data/tokenizer.h"
#include "tessera/model/language_model.h"

namespace tessera::cli {
namespace {

struct ImportOptions {
  std::string from, weights, out, tokenizer;
  std::optional<int64_t> heads, window;
};

/// Throws DataError where the configuration of a GPT-2 tells of another network: its tensors have
/// the same names and shapes.
void check_computes_as_gpt2(const nlohmann::json& json, const std::string& file) {
  const std::pair<const char*, nlohmann::json> expected[] = {
      {"model_type", {"gpt2"}},
      {"activation_function", {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"}},
      {"layer_norm_epsilon", {1e-5}},
      {"scale_attn_weights", {true}},
      {"scale_attn_by_inverse_layer_idx", {false}}};
  for (const auto& [name, values] : expected)
    if (const auto found = json.find(name);
        found != json.end() && std::ranges::find(values, *found) == values.end())
      throw DataError(file, "{} is {}, only networks with {} can be imported", name,
                      config::shown(*found), values.front().dump());
}

/// A folder as Hugging Face has it: what lies beside the weights.
void read_folder(ImportOptions& options, std::map<std::string, int64_t>& sizes) {
  const std::filesystem::path folder = options.weights;
  options.weights = weights_in(folder).native();
  if (const auto file = folder / "config.json"; std::filesystem::exists(file)) {
    const auto json = config::parse_sorted_json(read_file(file, 256 << 20), file.native());
    for (const auto& [ours, theirs] : {std::pair("heads", "n_head"), {"window", "n_positions"}})
      if (const auto found = json.find(theirs); found != json.end() && found->is_number_integer())
        sizes[ours] = found->get<int64_t>();
    if (options.from == "gpt2") check_computes_as_gpt2(json, file.native());
  }
  const bool has_tokenizer = std::filesystem::exists(folder / "tokenizer.json") ||
                             std::filesystem::exists(folder / "merges.txt");
  if (options.tokenizer.empty() && has_tokenizer) options.tokenizer = folder.native();
}

/// Throws UsageError where the model cannot read this tokenizer's tokens.
Tokenizer fitting_tokenizer(const std::string& path, const SequenceModel& model) {
  const auto* language_model = dynamic_cast<const LanguageModel*>(&model);
  if (!language_model)
    throw UsageError("--tokenizer: a model of the kind {} reads vectors, not tokens", model.kind());
  Tokenizer tokenizer = Tokenizer::load(path);
  if (tokenizer.vocabulary_size() > language_model->vocabulary())
    throw UsageError("--tokenizer has {} tokens, the model only {}", tokenizer.vocabulary_size(),
                     language_model->vocabulary());
  return tokenizer;
}

void run_import(ImportOptions& options) {
  std::map<std::string, int64_t> sizes;
  if (std::filesystem::is_directory(options.weights)) read_folder(options, sizes);
  check_not_input("--out", weights_in(options.out), {options.weights});
  if (options.heads) sizes["heads"] = *options.heads;
  if (options.window) sizes["window"] = *options.window;
  const ImportedModel imported = import_weights(options.from, options.weights, sizes);
  const std::filesystem::path out = options.out;
  if (std::filesystem::exists(out / "config.json"))
    throw UsageError("{} holds a model already; give another --out, or remove it", options.out);
  const InterruptGuard guard;  // a signal waits until all is written
  if (!options.tokenizer.empty())
    fitting_tokenizer(options.tokenizer, *imported.model).save(out / "tokenizer.json");
  save_model(out, *imported.model, imported.format);
  fmt::print("{}: {}, {} parameters\n", options.out, imported.model->kind(),
             imported.model->parameter_count());
}

}  // namespace

void add_import(Verb& program) {
  auto options = std::make_shared<ImportOptions>();
  Verb& verb = program.verb(
      "import",
      "Convert weights of the reference implementations or of GPT-2 into a model directory");
  verb.option("--from", options->from, weight_format_names(),
              "The implementation that the weights come from")
      .required();
  verb.option("--weights", options->weights,
              "safetensors file with the state dict; or a folder with model.safetensors, "
              "config.json and "
              "a tokenizer, as Hugging Face has it")
      .required();
  verb.option("--out", options->out, "Model directory to write").required();
  verb.option("--tokenizer", options->tokenizer, "Tokenizer to store with the model");
  verb.option("--heads", options->heads,
              "Number of heads, where metadata and shapes do not tell it")
      .at_least(1);
  verb.option("--window", options->window,
              "Window in tokens, where metadata and shapes do not tell it")
      .at_least(1);
  verb.run([options] { run_import(*options); });
}

}  // namespace tessera::cli
