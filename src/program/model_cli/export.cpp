// tessera export --model DIR --out FILE
// tessera export --model DIR --weights int8 --out DIR

#include <fmt/ranges.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "program/cli/program.h"
#include "program/model_cli/model_verbs.h"
#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/interrupt.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/language_model.h"
#include "tessera/model/model_kind.h"

namespace tessera::cli {
namespace {

struct ExportArguments {
  std::string model, to, out;
  std::optional<ops::WeightType> weights;
};

/// The weights in the format of another implementation.
void export_format(const ExportArguments& options) {
  check_not_input("--out", options.out, {weights_in(options.model).native()});
  const auto model = load_sequence_model(options.model);
  const auto source = source_of_model(options.model);
  if (options.to.empty() && !source) {
    std::vector<std::string_view> formats;
    for (const WeightFormat& format : model_kind(model->kind()).weight_formats)
      formats.push_back(format.name);
    throw UsageError("--to is needed: {} was not imported from another format; {} {}",
                     options.model, model->kind(),
                     formats.empty()
                         ? "can be written in none"
                         : fmt::format("can be written as: {}", fmt::join(formats, ", ")));
  }
  const ForeignFormat format = options.to.empty() ? *source : ForeignFormat{options.to, ""};
  const InterruptGuard guard;  // a signal waits until all is written
  export_weights(format, *model, options.out);
  fmt::print("{}: {} parameters as {}\n", options.out, model->parameter_count(), format.name);
}

/// A model directory of its own, with the weights in these numbers.
void export_directory(const ExportArguments& options) {
  const std::filesystem::path from = options.model, to = options.out;
  if (std::filesystem::exists(to))
    throw UsageError("--out: {} exists; name a directory that does not", to.native());
  const auto model = load_to_read(from, options.weights);
  const InterruptGuard guard;  // a signal waits until all is written
  save_model(to, *model, source_of_model(from));
  constexpr const char* kTokenizer = "tokenizer.json";
  if (std::filesystem::exists(from / kTokenizer))
    write_file(to / kTokenizer, read_file(from / kTokenizer));
  const auto megabytes = [](const std::filesystem::path& folder) {
    return static_cast<double>(std::filesystem::file_size(weights_in(folder))) / 1e6;
  };
  fmt::print("{}: weights in {}, {:.1f} MB; {} has {:.1f} MB\n", to.native(),
             config::enum_name(*options.weights), megabytes(to), from.native(), megabytes(from));
}

}  // namespace

void add_export(Verb& program) {
  auto options = std::make_shared<ExportArguments>();
  Verb& verb = program.verb("export",
                            "Write the weights of a model in the format of another implementation, "
                            "or a model directory with weights of fewer bits");
  verb.option("--model", options->model, "Model directory").required();
  const Option to = verb.option("--to", options->to, weight_format_names(),
                                "The format; without it, the one that the model was imported from");
  verb.option("--weights", options->weights,
              "Write a model directory whose matrices are kept in these numbers, for generate, "
              "eval, serve and whatever else only reads a model")
      .excludes(to);
  verb.option("--out", options->out, "safetensors file to write or, with --weights, the directory")
      .required();
  verb.run([options] { options->weights ? export_directory(*options) : export_format(*options); });
}

}  // namespace tessera::cli
