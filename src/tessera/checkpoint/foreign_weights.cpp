// Weights of other programs, which model_directory.h declares after model directories.

#include "tessera/checkpoint/model_directory.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/base/error.h"
#include "tessera/base/number.h"
#include "tessera/base/suggestion.h"
#include "tessera/checkpoint/detail/foreign_names.h"
#include "tessera/checkpoint/detail/weight_file.h"
#include "tessera/model/model_kind.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera {
namespace {

using config::Json;
using Views = std::map<std::string, safetensors::TensorView>;

constexpr std::string_view kPrefixes[] = {"",           "transformer.",      "module.",
                                          "_orig_mod.", "module._orig_mod.", "_orig_mod.module."};

/// A format and the kind of model that it holds.
struct KnownFormat {
  const ModelKind* kind;
  const WeightFormat* format;
};

std::vector<KnownFormat> known_formats() {
  std::vector<KnownFormat> formats;
  for (const auto& kind : model_kinds())
    for (const auto& format : kind.weight_formats) formats.push_back({&kind, &format});
  return formats;
}

KnownFormat known_format(std::string_view name) {
  const auto formats = known_formats();
  const auto names = weight_format_names();
  return formats[config::index_of_name(names, name, "format")];
}

std::string prefixed(const std::string& prefix, const ForeignTensor& tensor) {
  return tensor.never_prefixed ? tensor.name : prefix + tensor.name;
}

/// A name that every file in this format has, after its prefix: the first without wildcards.
std::string_view fixed_name(const WeightFormat& format) {
  const auto found = std::find_if(format.names.begin(), format.names.end(), [](const NameRow& row) {
    return row.foreign.find_first_of("#*@") == std::string_view::npos;
  });
  TORCH_INTERNAL_ASSERT(found != format.names.end());
  return found->foreign;
}

/// A state dict's header: tensors under names without prefix, buffers apart.
struct StateDict : ForeignSizes {
  KnownFormat known;
  std::string prefix;
  std::string path;
  Views tensors;
  Views buffers;
  Views strays;  // under their names in the file, which should have the prefix, or should not
  std::map<std::string, std::string> texts;  // the file's metadata

  StateDict(KnownFormat expected, const safetensors::File& file);
  std::vector<ForeignTensor> tensors_of(const std::string& own_name,
                                        const std::vector<int64_t>& shape) const {
    return foreign_tensors(*known.format, own_name, shape);
  }
  /// A name in `tensors` as the file has it.
  std::string name_in_file(const std::string& name) const;
  std::vector<int64_t> shape(const std::string& own_name, size_t rank) const override;
  bool holds(const std::string& own_name) const override {
    return tensors.count(tensors_of(own_name, {0}).front().name) > 0;
  }
  std::optional<std::vector<int64_t>> buffer_shape(const std::string& name) const override;
  std::optional<int64_t> metadata(const std::string& key) const override;
};

StateDict::StateDict(KnownFormat expected, const safetensors::File& file)
    : known(expected), path(file.path()), texts(file.metadata()) {
  const std::string fixed(fixed_name(*known.format));
  for (std::string_view candidate : kPrefixes)
    if (file.tensors().count(std::string(candidate) + fixed)) prefix = candidate;
  for (const auto& [name, view] : file.tensors()) {
    const std::string bare = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    if (is_buffer(*known.format, bare))
      buffers[bare] = view;
    else if (name_in_file(bare) == name)
      tensors[bare] = view;
    else
      strays[name] = view;
  }
  for (const auto& other : known_formats())
    if (other.format->variant_of == expected.format->name &&
        tensors.count(std::string(other.format->recognised_by)))
      known = other;
}

std::string StateDict::name_in_file(const std::string& name) const {
  for (const auto& row : known.format->names)
    if (row.never_prefixed && row.foreign == name) return name;
  return prefix + name;
}

std::vector<int64_t> StateDict::shape(const std::string& own_name, size_t rank) const {
  std::vector<int64_t> sizes(rank, 1);
  const ForeignTensor tensor = tensors_of(own_name, sizes).front();
  const auto found = tensors.find(tensor.name);
  if (found == tensors.end()) {
    std::vector<std::string> names;
    for (const auto& [other, view] : tensors) names.push_back(other);
    throw DataError(path, "tensor '{}' is missing; a {} file has it{}", prefixed(prefix, tensor),
                    known.format->name, suggestion(tensor.name, names));
  }
  if (found->second.shape.size() != tensor.shape.size())
    throw DataError(path, "tensor '{}' has {} dimensions, expected {}", prefixed(prefix, tensor),
                    found->second.shape.size(), tensor.shape.size());
  sizes = own_shape(tensor.form, found->second.shape);
  if (tensor.form == TensorForm::kSlotsApart) {
    const auto parts = tensors_of(own_name, {std::ssize(tensors), 1, 1, 1});
    const auto is_missing = [&](const ForeignTensor& part) { return !tensors.contains(part.name); };
    sizes[0] = std::ranges::find_if(parts, is_missing) - parts.begin();
  }
  return sizes;
}

std::optional<std::vector<int64_t>> StateDict::buffer_shape(const std::string& name) const {
  const auto found = buffers.find(name);
  if (found == buffers.end()) return {};
  return found->second.shape;
}

std::optional<int64_t> StateDict::metadata(const std::string& key) const {
  const auto found = texts.find(key);
  if (found == texts.end()) return {};
  const auto value = number_from<int64_t>(found->second);
  if (!value)
    throw DataError(path, "metadata {} is '{}', expected a whole number", key, found->second);
  return value;
}

/// The hyper-parameters that the file tells.
Json hyper_parameters_of(const StateDict& dict) {
  const WeightFormat& format = *dict.known.format;
  Json fields = Json::object();
  for (const auto& [field, value] : format.implied)
    fields[std::string(field)] = config::parse_json(value, std::string(format.name));
  fields.update(format.hyper_parameters(dict));
  return fields;
}

void override_sizes(Json& fields, const std::map<std::string, int64_t>& sizes) {
  for (const auto& [name, value] : sizes) {
    if (name != "heads" && name != "window")
      throw UsageError("import: the size '{}' cannot be given{}", name,
                       suggestion(name, {"heads", "window"}));
    fields[name] = value;
  }
}

/// The names and shapes of the model's parameters, before anything is allocated.
std::vector<ParameterShape> shapes_of(const StateDict& dict, const Json& fields,
                                      bool sizes_were_given) {
  const auto layers = fields.value("layers", int64_t{0});
  const auto most = std::ssize(dict.tensors);
  if (layers > most)
    throw DataError(dict.path, "it claims to have {} layers, but has {} tensors in all", layers,
                    most);
  try {
    return parameter_shapes(dict.known.kind->name, fields);
  } catch (const UsageError& error) {
    if (sizes_were_given) throw;
    throw DataError(dict.path, "{}", error.what());  // what the file says of itself
  }
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
  Views found = dict.strays;
  for (const auto& [name, shape] : own_shapes) {
    parameters.push_back({name, dict.tensors_of(name, shape)});
    for (const auto& tensor : parameters.back().tensors)
      if (!tensor.repeats_other || dict.tensors.count(tensor.name))
        expected.push_back({prefixed(dict.prefix, tensor), tensor.shape});
  }
  for (const auto& [name, view] : dict.tensors) found[dict.name_in_file(name)] = view;
  check_tensors(found, expected, dict.path);
  return parameters;
}

void load_parameters(const TensorFile& file, const StateDict& dict,
                     const std::vector<Parameter>& parameters, SequenceModel& model) {
  at::NoGradGuard no_grad;
  const auto own = model.named_parameters();
  for (const auto& [own_name, tensors] : parameters) {
    const std::string first = prefixed(dict.prefix, tensors.front());
    for (const auto& tensor : tensors) {
      const std::string name = prefixed(dict.prefix, tensor);
      if (!tensor.repeats_other)
        in_form(own[own_name], tensor).copy_(file.tensors.at(name));
      else if (file.tensors.count(name) && !file.tensors.at(name).equal(file.tensors.at(first)))
        throw DataError(dict.path,
                        "tensor '{}' differs from '{}'; the two must be one tied tensor, as these "
                        "networks share it",
                        name, first);
    }
  }
}

void check_exportable(const KnownFormat& known, const SequenceModel& model) {
  const auto expect = [&](std::string_view field, std::string_view expected, std::string found) {
    if (found != expected)
      throw UsageError("a {} file holds models with {} = {}; this one has {}", known.format->name,
                       field, expected, found);
  };
  expect("kind", known.kind->name, std::string(model.kind()));
  const Json fields = model.hyper_parameters();
  for (const auto& [field, value] : known.format->implied)
    expect(field, value, fields.at(std::string(field)).dump());
  for (const auto& item : model.named_parameters())
    if (ops::weight_type(item.value()) == ops::WeightType::kInt8)
      throw UsageError(
          "a {} file holds floats; this model keeps '{}' in int8; load it with its matrices as "
          "floats",
          known.format->name, item.key());
}

NamedTensors foreign_copies(const ForeignFormat& format, const NamedTensors& own,
                            bool with_repeats) {
  const WeightFormat& names = *known_format(format.name).format;
  NamedTensors result;
  for (const auto& [name, values] : own) {
    const auto tensors = foreign_tensors(names, name, values.sizes().vec());
    TESSERA_CHECK(!tensors.empty(), "to_foreign: '", name, "' has no name in the format ",
                  format.name);
    for (const auto& tensor : tensors)
      if (with_repeats || !tensor.repeats_other)
        result.emplace_back(prefixed(format.prefix, tensor), in_form(values, tensor).contiguous());
  }
  return result;
}

}  // namespace

std::vector<std::string_view> weight_format_names() {
  std::vector<std::string_view> names;
  for (const auto& known : known_formats()) names.push_back(known.format->name);
  return names;
}

ImportedModel import_weights(std::string_view format, const std::filesystem::path& file,
                             const std::map<std::string, int64_t>& sizes) {
  const auto weights = safetensors::File::open(file);
  const StateDict dict(known_format(format), weights);
  Json fields = hyper_parameters_of(dict);
  override_sizes(fields, sizes);
  const auto parameters = check_parameters(dict, shapes_of(dict, fields, !sizes.empty()));
  const auto model = dict.known.kind->make(fields, /*seed=*/std::nullopt, at::kCPU);
  model->to(at::kFloat);  // as model directories have it, whatever LibTorch's default type is
  load_parameters(TensorFile::load(weights), dict, parameters, *model);
  return {model, {std::string(dict.known.format->name), dict.prefix}};
}

NamedTensors to_foreign(const ForeignFormat& format, const NamedTensors& own) {
  return foreign_copies(format, own, /*with_repeats=*/false);
}

void export_weights(const ForeignFormat& format, const SequenceModel& model,
                    const std::filesystem::path& file) {
  const KnownFormat known = known_format(format.name);
  check_exportable(known, model);
  NamedTensors own;
  for (const auto& item : model.named_parameters()) own.emplace_back(item.key(), item.value());
  auto metadata = known.format->metadata(model);
  metadata["format"] = "pt";
  metadata["model"] = known.format->name;
  save_tensors(file, foreign_copies(format, own, /*with_repeats=*/true), metadata);
}

}  // namespace tessera
