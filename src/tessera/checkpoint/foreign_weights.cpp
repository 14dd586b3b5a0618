#include "tessera/checkpoint/foreign_weights.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"
#include "tessera/checkpoint/foreign_names.h"
#include "tessera/checkpoint/weight_file.h"

namespace tessera {
namespace {

using Views = std::map<std::string, safetensors::TensorView>;

constexpr int64_t kGptHeadWidth = 64;  // channels per head, in GPT-2 of every size
constexpr int64_t kPaperWindow = 512;  // tokens
constexpr std::string_view kPrefixes[] = {"",           "transformer.",      "module.",
                                          "_orig_mod.", "module._orig_mod.", "_orig_mod.module."};
constexpr std::string_view kHead = "lm_head.weight";

bool is_gpt(ForeignKind kind) {
  return kind == ForeignKind::kNanoGpt || kind == ForeignKind::kGpt2;
}

std::string embedding_name(ForeignKind kind) {
  return foreign_tensors(kind, "embedding", {0, 0}).front().name;
}

std::string prefixed(const ForeignFormat& format, const std::string& name) {
  const bool bare = format.kind == ForeignKind::kGpt2 && name == kHead;
  return bare ? name : format.prefix + name;
}

/// A state dict's header: tensors under names without prefix, buffers left out.
struct StateDict {
  ForeignFormat format;
  std::string path;
  Views tensors;
  Views buffers;
  std::map<std::string, std::string> metadata;
};

StateDict read_header(ForeignKind kind, const safetensors::File& file) {
  StateDict dict{{kind, ""}, file.path(), {}, {}, file.metadata()};
  const std::string embedding = embedding_name(kind);
  for (std::string_view prefix : kPrefixes)
    if (file.tensors().count(std::string(prefix) + embedding)) dict.format.prefix = prefix;
  for (const auto& [name, view] : file.tensors()) {
    const bool has_prefix = name.starts_with(dict.format.prefix);
    const std::string bare = has_prefix ? name.substr(dict.format.prefix.size()) : name;
    (is_buffer(kind, bare) ? dict.buffers : dict.tensors)[bare] = view;
  }
  if (kind == ForeignKind::kMemoryMosaics &&
      dict.tensors.count("blocks.0.attn.leaky_average.linear.weight"))
    dict.format.kind = ForeignKind::kMemoryMosaicsEft;
  return dict;
}

/// The shape of a tensor that sizes are taken from.
std::vector<int64_t> shape_of(const StateDict& dict, const std::string& name, size_t rank) {
  const auto found = dict.tensors.find(name);
  if (found == dict.tensors.end()) {
    std::vector<std::string> known;
    for (const auto& [other, view] : dict.tensors) known.push_back(other);
    throw DataError(dict.path, "tensor '{}' is missing{}; is this a {} file?",
                    prefixed(dict.format, name), suggestion(name, known),
                    config::enum_name(dict.format.kind));
  }
  if (found->second.shape.size() != rank)
    throw DataError(dict.path, "tensor '{}' has {} dimensions, expected {}",
                    prefixed(dict.format, name), found->second.shape.size(), rank);
  return found->second.shape;
}

std::optional<int64_t> metadata_size(const StateDict& dict, const std::string& key) {
  const auto found = dict.metadata.find(key);
  if (found == dict.metadata.end()) return {};
  int64_t value = 0;
  const char* end = found->second.data() + found->second.size();
  const auto [stop, error] = std::from_chars(found->second.data(), end, value);
  if (error != std::errc{} || stop != end)
    throw DataError(dict.path, "metadata {} is '{}', expected a whole number", key, found->second);
  return value;
}

/// The blocks that the tensors' names count.
int64_t layers_in(const StateDict& dict) {
  int64_t layers = 0;
  const char* norm = is_gpt(dict.format.kind) ? "attention_norm" : "context_norm";
  while (dict.tensors.count(
      foreign_tensors(dict.format.kind, fmt::format("blocks.{}.{}.weight", layers, norm), {0})
          .front()
          .name))
    ++layers;
  return layers;
}

bool has_bias(const StateDict& dict) {
  return dict.tensors.count(foreign_tensors(dict.format.kind, "norm.bias", {0}).front().name) > 0;
}

/// Sizes that both networks have, under the metadata's names where it gives them.
template <typename Config>
Config common_sizes(const StateDict& dict) {
  const auto embedding = shape_of(dict, embedding_name(dict.format.kind), 2);
  Config config;
  config.dropout = 0;
  config.vocabulary = metadata_size(dict, "vocab_size").value_or(embedding[0]);
  config.channels = metadata_size(dict, "n_embd").value_or(embedding[1]);
  config.layers = metadata_size(dict, "n_layer").value_or(layers_in(dict));
  config.bias = has_bias(dict);
  return config;
}

MemoryMosaicConfig mosaic_config(const StateDict& dict) {
  auto config = common_sizes<MemoryMosaicConfig>(dict);
  const ForeignKind kind = dict.format.kind;
  const bool nano = kind == ForeignKind::kNanoMosaics;
  config.parameterisation = nano ? Parameterisation::kNano : Parameterisation::kPaper;
  const auto mix = foreign_tensors(kind, "blocks.0.context.value.mix", {0}).front();
  const auto slots = foreign_tensors(kind, "blocks.0.persistent.slot_keys", {1, 0, 0, 0}).front();
  const auto mix_shape = shape_of(dict, mix.name, mix.shape.size());
  const auto slots_shape = shape_of(dict, slots.name, slots.shape.size());
  config.heads = metadata_size(dict, "n_head").value_or(nano ? mix_shape[1] : mix_shape[0]);
  config.persistent_slots =
      metadata_size(dict, "pmem_size").value_or(slots_shape[slots_shape.size() - 2]);
  int64_t count = nano ? slots_shape[0] : 1;
  while (!nano && dict.tensors.count(fmt::format("blocks.0.pmem.pmem.M_k{}", count))) ++count;
  config.persistent_count = metadata_size(dict, "pmem_count").value_or(count);
  const auto mask = dict.buffers.find("mosaic.h.0.attn.bias");
  const bool has_mask = mask != dict.buffers.end() && mask->second.shape.size() == 4;
  config.window =
      metadata_size(dict, "block_size").value_or(has_mask ? mask->second.shape[3] : kPaperWindow);
  return config;
}

GptConfig gpt_config(const StateDict& dict) {
  auto config = common_sizes<GptConfig>(dict);
  const bool gpt2 = dict.format.kind == ForeignKind::kGpt2;
  config.gelu = gpt2 ? Gelu::kTanh : Gelu::kExact;
  config.heads =
      metadata_size(dict, "n_head").value_or(std::max<int64_t>(config.channels / kGptHeadWidth, 1));
  const auto positions =
      foreign_tensors(dict.format.kind, "position_embedding", {0, 0}).front().name;
  config.window = shape_of(dict, positions, 2)[0];
  for (const char* key : {"n_positions", "block_size"})
    config.window = metadata_size(dict, key).value_or(config.window);
  return config;
}

template <typename Config>
void override_sizes(Config& config, const std::map<std::string, int64_t>& sizes) {
  for (const auto& [name, value] : sizes) {
    if (name == "heads")
      config.heads = value;
    else if (name == "window")
      config.window = value;
    else
      throw UsageError("import: the size '{}' cannot be given{}", name,
                       suggestion(name, {"heads", "window"}));
  }
  config.check();
}

/// The parameters of the model, checked to be in the file, each with what holds it.
struct Parameter {
  std::string own_name;
  std::vector<ForeignTensor> tensors;
};

std::vector<Parameter> check_parameters(const StateDict& dict,
                                        const std::vector<ParameterShape>& own_shapes) {
  std::vector<Parameter> parameters;
  std::vector<ParameterShape> expected;
  Views found;
  for (const auto& [name, view] : dict.tensors) found[prefixed(dict.format, name)] = view;
  for (const auto& [name, shape] : own_shapes) {
    parameters.push_back({name, foreign_tensors(dict.format.kind, name, shape)});
    for (const auto& tensor : parameters.back().tensors)
      if (!tensor.repeats_other || dict.tensors.count(tensor.name))
        expected.push_back({prefixed(dict.format, tensor.name), tensor.shape});
  }
  check_tensors(found, expected, dict.path);
  return parameters;
}

void check_tied(const at::Tensor& copy, const at::Tensor& original, const std::string& copy_name,
                const std::string& original_name, const std::string& path) {
  if (!copy.equal(original))
    throw DataError(path,
                    "tensor '{}' differs from '{}'; the two must be one tied tensor, as these "
                    "networks share it",
                    copy_name, original_name);
}

void load_parameters(const StateDict& dict, const std::vector<Parameter>& parameters,
                     LanguageModel& model) {
  const TensorFile file = TensorFile::load(dict.path);
  const auto own = model.named_parameters();
  for (const auto& [own_name, tensors] : parameters) {
    const std::string first = prefixed(dict.format, tensors.front().name);
    for (const auto& tensor : tensors) {
      const std::string name = prefixed(dict.format, tensor.name);
      if (!tensor.repeats_other)
        copy_from_form(file.tensors.at(name), tensor, own[own_name]);
      else if (file.tensors.count(name))
        check_tied(file.tensors.at(name), file.tensors.at(first), name, first, dict.path);
    }
  }
}

template <typename Model, typename Config>
std::shared_ptr<LanguageModel> build(const StateDict& dict, Config config,
                                     const std::map<std::string, int64_t>& sizes) {
  if (sizes.empty()) {
    try {
      config.check();
    } catch (const UsageError& error) {  // what the file says of itself
      throw DataError(dict.path, "{}", error.what());
    }
  }
  override_sizes(config, sizes);
  const auto most = static_cast<int64_t>(dict.tensors.size());
  if (config.layers > most)
    throw DataError(dict.path, "it is said to have {} layers, but has {} tensors in all",
                    config.layers, most);
  const auto parameters = check_parameters(dict, parameter_shapes(config));
  const auto model = std::make_shared<Model>(config, std::nullopt);
  load_parameters(dict, parameters, *model);
  return model;
}

void expect(bool fits, ForeignKind kind, std::string_view field, std::string_view expected,
            const std::string& found) {
  if (!fits)
    throw UsageError("a {} file holds models with {} = {}; this one has {}",
                     config::enum_name(kind), field, expected, found);
}

void check_exportable(ForeignKind kind, const LanguageModel& model) {
  const auto fields = model.hyper_parameters();
  const auto check = [&](const char* field, const config::Json& expected) {
    expect(fields.at(field) == expected, kind, field, expected.dump(), fields.at(field).dump());
  };
  const auto wanted = is_gpt(kind) ? Gpt::kKind : MemoryMosaic::kKind;
  expect(model.kind() == wanted, kind, "kind", wanted, std::string(model.kind()));
  if (!is_gpt(kind)) {
    check("parameterisation", kind == ForeignKind::kNanoMosaics ? "nano" : "paper");
    return;
  }
  check("positions", "learned");
  check("gelu", kind == ForeignKind::kGpt2 ? "tanh" : "exact");
  if (kind == ForeignKind::kGpt2) check("bias", true);
}

std::map<std::string, std::string> metadata_of(ForeignKind kind, const LanguageModel& model) {
  const auto fields = model.hyper_parameters();
  const auto text = [&](const char* field) {
    return std::to_string(fields.at(field).get<int64_t>());
  };
  std::map<std::string, std::string> metadata = {
      {"format", "pt"},
      {"model", config::enum_name(kind)},
      {"n_layer", text("layers")},
      {"n_head", text("heads")},
      {"n_embd", text("channels")},
      {kind == ForeignKind::kGpt2 ? "n_positions" : "block_size", text("window")},
      {"vocab_size", text("vocabulary")},
      {"bias", fields.at("bias").get<bool>() ? "True" : "False"}};
  if (is_gpt(kind)) return metadata;
  const auto& mosaic = dynamic_cast<const MemoryMosaic&>(model).configuration();
  metadata["pmem_size"] = std::to_string(mosaic.slots());
  metadata["pmem_count"] = std::to_string(mosaic.persistent_count);
  return metadata;
}

NamedTensors foreign_copies(const ForeignFormat& format, const NamedTensors& own,
                            bool with_repeats) {
  NamedTensors result;
  for (const auto& [name, values] : own) {
    const auto tensors = foreign_tensors(format.kind, name, values.sizes().vec());
    TORCH_CHECK_VALUE(!tensors.empty(), "to_foreign: '", name, "' has no name in the format ",
                      config::enum_name(format.kind));
    for (const auto& tensor : tensors)
      if (with_repeats || !tensor.repeats_other)
        result.emplace_back(prefixed(format, tensor.name), to_form(values, tensor));
  }
  return result;
}

}  // namespace

ImportedModel import_weights(ForeignKind kind, const std::filesystem::path& file,
                             const std::map<std::string, int64_t>& sizes) {
  const auto header = safetensors::File::open(file);
  const StateDict dict = read_header(kind, header);
  if (is_gpt(kind)) return {build<Gpt>(dict, gpt_config(dict), sizes), dict.format};
  return {build<MemoryMosaic>(dict, mosaic_config(dict), sizes), dict.format};
}

NamedTensors to_foreign(const ForeignFormat& format, const NamedTensors& own) {
  return foreign_copies(format, own, /*with_repeats=*/false);
}

void export_weights(const ForeignFormat& format, const LanguageModel& model,
                    const std::filesystem::path& file) {
  check_exportable(format.kind, model);
  NamedTensors own;
  for (const auto& item : model.named_parameters()) own.emplace_back(item.key(), item.value());
  save_tensors(file, foreign_copies(format, own, /*with_repeats=*/true),
               metadata_of(format.kind, model));
}

}  // namespace tessera
