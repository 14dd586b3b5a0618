#pragma once

#include <torch/nn/module.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/model/language_model.h"
#include "tessera/model/weight_format.h"

namespace tessera {

struct ParameterShape {
  std::string name;
  std::vector<int64_t> shape;
};

/// The parameters of a network by the names of named_parameters(). A network on the meta device
/// tells them without allocating any.
std::vector<ParameterShape> parameter_shapes(const torch::nn::Module& network);

/// The number of parameters in these shapes.
int64_t count_parameters(const std::vector<ParameterShape>& shapes);

/// One kind of model: all that making, checking, loading, importing and explaining it needs.
/// CONTRIBUTING.md, "Adding a model", tells how to add one.
struct ModelKind {
  std::string_view name;     ///< as config.json and the table [model] give it: "gpt"
  std::string_view summary;  ///< what it is, in one line of help
  bool language_model;       ///< whether it is a LanguageModel, which reads and predicts tokens
  bool reads_vectors;        ///< whether it reads vectors; its hyper-parameters have "inputs" and
                             ///< "outputs"
  /// The hyper-parameters with their defaults and meanings, one line each.
  std::string (*describe_fields)(const std::string& indent);
  /// A model with these hyper-parameters, the others at their defaults; parameters drawn from
  /// `seed`, or left to be loaded. On the meta device they have sizes and no memory. Throws
  /// UsageError on an unknown key and on impossible values.
  std::shared_ptr<SequenceModel> (*make)(const config::Json& hyper_parameters,
                                         std::optional<uint64_t> seed, at::Device device);
  /// How other programs keep its weights.
  std::vector<WeightFormat> weight_formats;
};

template <typename Config>
concept HasInputsAndOutputs = requires(Config config) {
  config.inputs;
  config.outputs;
};

/// The kind of a class with `kKind`, `Config` and a constructor from (Config, seed, device).
template <typename Model>
ModelKind model_kind_of(std::string_view summary, std::vector<WeightFormat> weight_formats = {}) {
  using Config = typename Model::Config;
  return {
      .name = Model::kKind,
      .summary = summary,
      .language_model = std::derived_from<Model, LanguageModel>,
      .reads_vectors = HasInputsAndOutputs<Config>,
      .describe_fields =
          [](const std::string& indent) { return config::describe_fields<Config>({}, indent); },
      .make = [](const config::Json& hyper_parameters, std::optional<uint64_t> seed,
                 at::Device device) -> std::shared_ptr<SequenceModel> {
        Config config;
        config::from_json(hyper_parameters, config, "model");
        return std::make_shared<Model>(config, seed, device);
      },
      .weight_formats = std::move(weight_formats),
  };
}

/// Every kind of model: the library's, the first being the default of `tessera train`, then those
/// that were added.
const std::vector<ModelKind>& model_kinds();
/// Adds kinds that stand outside the library. A program calls it when it starts, before another
/// thread uses models. Throws UsageError where a name is taken.
void add_model_kinds(std::vector<ModelKind> kinds);
/// The kind of this name. Throws UsageError that lists the names there are.
const ModelKind& model_kind(std::string_view name);

/// A table [model] taken apart: the kind and the hyper-parameters. what: the table's name in
/// messages. Throws UsageError where it is no table or names no kind.
std::pair<std::string, config::Json> kind_and_fields(const config::Json& table,
                                                     std::string_view what = "model");

/// What model_kind(kind).make() gives, on the CPU. Throws UsageError where the kind is not one of
/// language models.
std::shared_ptr<LanguageModel> make_language_model(std::string_view kind,
                                                   const config::Json& hyper_parameters,
                                                   std::optional<uint64_t> seed = 0);
/// Throws what make_language_model throws, and allocates no parameters.
void check_language_model(std::string_view kind, const config::Json& hyper_parameters);

/// The names and shapes of the parameters of such a model, without allocating them: files are
/// compared with them first. Throws as make() does.
std::vector<ParameterShape> parameter_shapes(std::string_view kind,
                                             const config::Json& hyper_parameters);

}  // namespace tessera
