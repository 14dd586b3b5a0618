#include "tessera/checkpoint/model_directory.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/base/suggestion.h"
#include "tessera/checkpoint/weight_file.h"
#include "tessera/model/model_kind.h"

namespace tessera {
namespace {

using config::Json;

constexpr int kFormat = 1;
constexpr const char* kConfigFile = "config.json";
constexpr const char* kWeightFile = "model.safetensors";

/// What config.json holds.
struct ModelDescription {
  std::string kind;
  std::optional<ForeignFormat> source;
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

/// What to say of a folder without config.json.
std::string remedy(const std::filesystem::path& folder) {
  const auto below = folder / "model";  // of a training's run directory
  return std::filesystem::exists(below / kConfigFile)
             ? fmt::format("; did you mean '{}'?", below.native())
             : "; 'tessera train' and 'tessera import' write such directories";
}

ModelDescription read_description(const std::filesystem::path& folder) {
  const std::string path = (folder / kConfigFile).native();
  if (!std::filesystem::exists(path))
    throw DataError(folder.native(), "is not a model directory: it has no {}{}", kConfigFile,
                    remedy(folder));
  Json json = config::read_json(path);
  if (!json.is_object()) throw DataError(path, "holds no JSON object");
  const Json format = taken(json, "format");
  if (format != kFormat)
    throw DataError(path, "format is {}, this version reads format {}", format.dump(), kFormat);
  const Json kind = taken(json, "kind");
  if (!kind.is_string()) throw DataError(path, "kind is {}, expected a name", kind.dump());
  try {
    const auto source = read_source(taken(json, "source"), path);
    return {kind.get<std::string>(), source, std::move(json)};
  } catch (const UsageError& error) {
    throw DataError(path, "{}", error.what());
  }
}

/// Checks the tensor file's header against the configuration, then reads it and checks its
/// checksum.
TensorFile read_weights(const std::filesystem::path& path,
                        const std::vector<ParameterShape>& shapes) {
  {
    const auto file = safetensors::File::open(path);
    check_tensors(file.tensors(), shapes, path.native());
    for (const auto& [name, view] : file.tensors())
      if (view.dtype != safetensors::DType::kF32)
        throw DataError(path.native(), "tensor '{}' has type {}, expected F32", name,
                        safetensors::dtype_name(view.dtype));
  }
  TensorFile weights = TensorFile::load(path);
  check_checksum(weights);
  return weights;
}

}  // namespace

void save_model(const std::filesystem::path& folder, const SequenceModel& model,
                const std::optional<ForeignFormat>& source) {
  Json json = {{"kind", model.kind()}, {"format", kFormat}};
  if (source) json["source"] = {{"format", source->name}, {"prefix", source->prefix}};
  json.update(model.hyper_parameters());
  NamedTensors tensors;
  for (const auto& item : model.named_parameters()) tensors.emplace_back(item.key(), item.value());
  std::filesystem::create_directories(folder);
  save_with_checksum(folder / kWeightFile, tensors);
  write_file(folder / kConfigFile, json.dump(2) + "\n");
}

std::shared_ptr<SequenceModel> load_sequence_model(const std::filesystem::path& folder) {
  const ModelDescription description = read_description(folder);
  std::vector<ParameterShape> shapes;
  try {
    shapes = parameter_shapes(description.kind, description.hyper_parameters);
  } catch (const UsageError& error) {
    throw DataError((folder / kConfigFile).native(), "{}", error.what());
  }
  const TensorFile weights = read_weights(folder / kWeightFile, shapes);
  const auto model = model_kind(description.kind)
                         .make(description.hyper_parameters, /*seed=*/std::nullopt, at::kCPU);
  at::NoGradGuard no_grad;
  for (auto& item : model->named_parameters()) item.value().copy_(weights.tensors.at(item.key()));
  return model;
}

std::shared_ptr<LanguageModel> load_model(const std::filesystem::path& folder) {
  const auto model = load_sequence_model(folder);
  auto language_model = std::dynamic_pointer_cast<LanguageModel>(model);
  if (!language_model)
    throw DataError((folder / kConfigFile).native(), "kind is '{}', expected a language model",
                    model->kind());
  return language_model;
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
