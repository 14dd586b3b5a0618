#pragma once

#include <torch/nn/module.h>

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/model/language_model.h"

namespace tessera {

/// How a tensor of a foreign file lies in memory, seen from our own parameter.
enum class TensorForm {
  kSame,
  kTransposed,   ///< [out, in] <-> [in, out]; vectors stay
  kConvolution,  ///< [out, in] <-> [out, in, 1]; vectors stay
  kPerHead,      ///< [H] <-> [1, H, 1, 1]
  kSlots,        ///< [P, H, M, D] <-> [P, 1, H, M, D]
  kSlotsApart    ///< [P, H, M, D] <-> P tensors [1, H, M, D]
};

/// One row of a format's table of names. '#' stands for the layer, '*' for "weight" or "bias", '@'
/// for the number of a persistent memory.
struct NameRow {
  std::string_view own;
  std::string_view foreign;
  TensorForm form = TensorForm::kSame;
  bool repeats_other = false;   ///< a tied copy of the tensor of an earlier row
  bool never_prefixed = false;  ///< whatever prefix the other names have
};

/// What a file in a foreign format tells of its model. Parameters go by our own names.
class ForeignSizes {
 public:
  virtual ~ForeignSizes() = default;
  /// The shape of a parameter. Throws DataError where the tensor that holds it is missing or does
  /// not have the rank that it should.
  virtual std::vector<int64_t> shape(const std::string& own_name, size_t rank) const = 0;
  virtual bool holds(const std::string& own_name) const = 0;
  /// The shape of a buffer by its foreign name; none where there is no such buffer.
  virtual std::optional<std::vector<int64_t>> buffer_shape(const std::string& name) const = 0;
  /// A whole number of the file's metadata. Throws DataError where it is something else.
  virtual std::optional<int64_t> metadata(const std::string& key) const = 0;
};

/// A format in which another program keeps the weights of a kind of model.
struct WeightFormat {
  std::string_view name;  ///< as `tessera import --from` gives it
  /// The first name without wildcards is in every file; the prefix of a file is what stands before.
  std::vector<NameRow> names;
  std::vector<std::string_view> buffers;  ///< foreign names of tensors that are not parameters
  /// Hyper-parameters that every model in this format has, their values as JSON.
  std::vector<std::pair<std::string_view, std::string_view>> implied;
  /// The other hyper-parameters, from what a file tells.
  config::Json (*hyper_parameters)(const ForeignSizes&);
  /// The metadata of an exported file, where the format keeps sizes.
  std::map<std::string, std::string> (*metadata)(const SequenceModel&);
  /// A variant of another format is recognised by a tensor (its foreign name) that only it has.
  std::string_view variant_of = {}, recognised_by = {};
};

/// What networks of blocks have in common: vocabulary, channels, layers (the number of blocks that
/// have this norm) and bias. No state dict tells the dropout; it becomes 0.
config::Json sizes_of_blocks(const ForeignSizes& file, std::string_view norm_of_block);
/// The same of a model, under the names that nanoGPT gave them, and "window" under `window_key`.
std::map<std::string, std::string> metadata_of_blocks(const SequenceModel& model,
                                                      std::string_view window_key);

struct ParameterShape {
  std::string name;
  std::vector<int64_t> shape;
};

/// The parameters of a network by the names of named_parameters(). A network on the meta device
/// tells them without allocating any.
std::vector<ParameterShape> parameter_shapes(const torch::nn::Module& network);

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
/// thread uses models. Throws UsageError where a name is taken, adding none.
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
