#include "tessera/checkpoint/model_directory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/checkpoint/detail/weight_file.h"
#include "tessera/model/model_kind.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/huge_pages.h"
#include "tessera/tensor/tensor_file.h"

namespace tessera {
namespace {

using config::Json;

constexpr int kFormat = 1;
constexpr const char* kConfigFile = "config.json";
constexpr const char* kWeightFile = "model.safetensors";
constexpr const char* kScales = ".scales";  // after the name of a matrix of 8 bits

/// What config.json holds.
struct ModelDescription {
  std::string kind;
  std::optional<ForeignFormat> source;
  ops::WeightType weights;
  Json hyper_parameters;
};

/// Takes a key out of `json`.
Json taken(Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return {};
  Json value = *found;
  json.erase(found);
  return value;
}

std::optional<ForeignFormat> read_source(const Json& json, const std::string& path) {
  if (json.is_null()) return {};
  const auto text = [&](const char* key) {
    if (!json.is_object() || !json.contains(key) || !json.at(key).is_string())
      throw DataError(path, "source is {}, expected a table of 'format' and 'prefix'", json.dump());
    return json.at(key).get<std::string>();
  };
  config::index_of_name(weight_format_names(), text("format"), "source.format");
  return ForeignFormat{text("format"), text("prefix")};
}

ops::WeightType read_weight_type(const Json& json) {
  if (json.is_null()) return ops::WeightType::kFloat32;
  if (!json.is_string()) throw UsageError("weights is {}, expected a name", json.dump());
  return config::enum_value<ops::WeightType>(json.get<std::string>(), "weights");
}

/// What to say of a path that leads to no folder with config.json.
std::string complaint(const std::filesystem::path& folder) {
  const std::string lack = !is_there(folder)                       ? "there is nothing of this name"
                           : std::filesystem::is_directory(folder) ? "it has no config.json"
                                                                   : "it is a file";
  // A training's run directory, or a file of a model.
  for (const auto& meant : {folder / "model", folder.parent_path()})
    if (!meant.empty() && std::filesystem::exists(meant / kConfigFile))
      return fmt::format("{}; did you mean '{}'?", lack, meant.native());
  return lack + "; 'tessera train' and 'tessera import' write such directories";
}

ModelDescription read_description(const std::filesystem::path& folder) {
  const std::string path = (folder / kConfigFile).native();
  if (!std::filesystem::exists(path))
    throw DataError(folder.native(), "is not a model directory: {}", complaint(folder));
  Json json = config::read_json(path);
  if (!json.is_object()) throw DataError(path, "holds no JSON object");
  if (const auto type = json.find("model_type"); type != json.end() && !json.contains("format"))
    throw DataError(path, "is a Hugging Face model of the type {}; {}", type->dump(),
                    *type == "gpt2" ? fmt::format("'tessera import --from gpt2 --weights {} --out "
                                                  "DIR' makes a model directory of it",
                                                  folder.native())
                                    : "only gpt2 can be imported");
  if (json.contains("code") && !json.contains("kind"))
    throw DataError(folder.native(), "is a memo store, not a model directory");
  const Json format = taken(json, "format");
  if (format != kFormat)
    throw DataError(path, "format is {}, this version reads format {}", format.dump(), kFormat);
  const Json kind = taken(json, "kind");
  if (!kind.is_string()) throw DataError(path, "kind is {}, expected a name", kind.dump());
  try {
    const auto source = read_source(taken(json, "source"), path);
    const auto weights = read_weight_type(taken(json, "weights"));
    return {kind.get<std::string>(), source, weights, std::move(json)};
  } catch (const UsageError& error) {
    throw DataError(path, "{}", error.what());
  }
}

/// What model.safetensors must hold: a matrix of fewer bits has its scales beside it.
struct ExpectedTensors {
  std::vector<ParameterShape> shapes;
  std::map<std::string, safetensors::DType> types;

  void add(const std::string& name, const std::vector<int64_t>& shape, safetensors::DType type) {
    shapes.push_back({name, shape});
    types[name] = type;
  }
};

ExpectedTensors expected_tensors(const ModelDescription& description) {
  using safetensors::DType;
  const auto model = model_kind(description.kind)
                         .make(description.hyper_parameters, /*seed=*/std::nullopt, at::kMeta);
  const auto matrices = model->weight_matrices();
  ExpectedTensors expected;
  for (auto& [name, shape] : parameter_shapes(*model)) {
    const bool matrix = std::ranges::find(matrices, name) != matrices.end();
    if (!matrix || description.weights == ops::WeightType::kFloat32) {
      expected.add(name, shape, DType::kF32);
    } else if (description.weights == ops::WeightType::kBFloat16) {
      expected.add(name, shape, DType::kBF16);
    } else {
      expected.add(name, shape, DType::kI8);
      shape.back() = ops::weight_blocks(shape.back());
      expected.add(name + kScales, shape, DType::kBF16);
    }
  }
  return expected;
}

/// Checks the tensor file's header against the configuration, then reads it and checks its
/// checksum.
TensorFile read_weights(const std::filesystem::path& path, const ExpectedTensors& expected) {
  const auto file = safetensors::File::open(path);
  check_tensors(file.tensors(), expected.shapes, path.native(), expected.types);
  TensorFile weights = TensorFile::load(file);
  // Files of versions before there was one have none.
  if (weights.metadata.contains(kChecksum)) check_checksum(weights);
  return weights;
}

/// A parameter as the ops take it. Takes it out of the file.
at::Tensor taken(TensorFile& file, const std::string& name) {
  const auto part = [&](const std::string& key) {
    return std::move(file.tensors.extract(key).mapped());
  };
  const at::Tensor tensor = part(name);
  if (tensor.scalar_type() != at::kChar) return tensor;
  const at::Tensor scales = part(name + kScales);
  if (!scales.isfinite().logical_and(scales.ge(0)).all().item<bool>() ||
      tensor.eq(-128).any().item<bool>())
    throw DataError(file.path, "tensor '{}' contains -128, or '{}{}' a number that is not a scale",
                    name, name, kScales);
  return ops::packed({tensor, scales});
}

/// Matrices in numbers of this type, or in those of the folder where none is given.
std::shared_ptr<SequenceModel> load(const std::filesystem::path& folder,
                                    std::optional<ops::WeightType> weights) {
  const ModelDescription description = read_description(folder);
  ExpectedTensors expected;
  try {
    expected = expected_tensors(description);
  } catch (const UsageError& error) {
    throw DataError((folder / kConfigFile).native(), "{}", error.what());
  }
  TensorFile file = read_weights(folder / kWeightFile, expected);
  const auto model = model_kind(description.kind)
                         .make(description.hyper_parameters, /*seed=*/std::nullopt, at::kCPU);
  model->to(at::kFloat);  // as the file, whatever LibTorch's default type is
  const auto matrices = model->weight_matrices();
  const ops::WeightType type = weights.value_or(description.weights);
  if (type != ops::WeightType::kFloat32 && matrices.empty())
    throw UsageError(
        "weights of {} were asked for, but a model of kind '{}' is read in float32 alone",
        config::enum_name(type), description.kind);
  at::NoGradGuard no_grad;
  for (auto& item : model->named_parameters()) {
    at::Tensor& parameter = item.value();
    const int64_t columns = parameter.dim() > 0 ? parameter.size(-1) : 1;
    const at::Tensor stored = taken(file, item.key());
    const bool matrix = std::ranges::find(matrices, item.key()) != matrices.end();
    if (matrix && type == ops::WeightType::kInt8 && stored.is_floating_point() &&
        !stored.isfinite().all().item<bool>())
      throw DataError(file.path,
                      "tensor '{}' contains a number that is not finite, which int8 cannot hold",
                      item.key());
    if (!matrix || type == ops::WeightType::kFloat32) {
      parameter.copy_(matrix ? ops::as_floats(stored, columns) : stored);
    } else {
      parameter.set_requires_grad(false);
      parameter.set_data(ops::weight_type(stored) == type
                             ? stored
                             : ops::stored_as(ops::as_floats(stored, columns), type));
    }
    if (matrix) move_to_huge_pages(parameter);
  }
  return model;
}

std::shared_ptr<LanguageModel> as_language_model(const std::filesystem::path& folder,
                                                 const std::shared_ptr<SequenceModel>& model) {
  auto language_model = std::dynamic_pointer_cast<LanguageModel>(model);
  if (!language_model)
    throw DataError((folder / kConfigFile).native(), "kind is '{}', expected a language model",
                    model->kind());
  return language_model;
}

}  // namespace

void save_model(const std::filesystem::path& folder, const SequenceModel& model,
                const std::optional<ForeignFormat>& source) {
  Json json = {{"kind", model.kind()}, {"format", kFormat}};
  if (source) json["source"] = {{"format", source->name}, {"prefix", source->prefix}};
  json.update(model.hyper_parameters());
  auto weights = ops::WeightType::kFloat32;
  std::map<std::string, int64_t> columns;
  for (const auto& [name, shape] : parameter_shapes(model.kind(), model.hyper_parameters()))
    if (!shape.empty()) columns[name] = shape.back();
  NamedTensors tensors;
  for (const auto& item : model.named_parameters()) {
    const ops::WeightType type = ops::weight_type(item.value());
    weights = std::max(weights, type);
    if (type != ops::WeightType::kInt8) {
      tensors.emplace_back(item.key(), item.value());
      continue;
    }
    const auto [values, scales] = ops::unpacked(item.value(), columns.at(item.key()));
    tensors.emplace_back(item.key(), values);
    tensors.emplace_back(item.key() + kScales, scales);
  }
  if (weights != ops::WeightType::kFloat32) json["weights"] = config::enum_name(weights);
  save_with_checksum(folder / kWeightFile, tensors);
  write_file(folder / kConfigFile, json.dump(2) + "\n");
}

std::shared_ptr<SequenceModel> load_sequence_model(const std::filesystem::path& folder) {
  return load(folder, ops::WeightType::kFloat32);
}

std::shared_ptr<LanguageModel> load_model(const std::filesystem::path& folder) {
  return as_language_model(folder, load_sequence_model(folder));
}

std::shared_ptr<LanguageModel> load_to_read(const std::filesystem::path& folder,
                                            std::optional<ops::WeightType> weights) {
  return as_language_model(folder, load(folder, weights));
}

ops::WeightType weights_of_model(const std::filesystem::path& folder) {
  return read_description(folder).weights;
}

Json model_table(const SequenceModel& model) {
  Json table = model.hyper_parameters();
  table["kind"] = std::string(model.kind());
  return table;
}

Json model_table(const std::filesystem::path& folder) {
  const ModelDescription description = read_description(folder);
  Json table = description.hyper_parameters;
  table["kind"] = description.kind;
  return table;
}

std::optional<ForeignFormat> source_of_model(const std::filesystem::path& folder) {
  return read_description(folder).source;
}

}  // namespace tessera
