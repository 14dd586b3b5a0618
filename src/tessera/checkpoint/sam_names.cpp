#include "tessera/checkpoint/sam_names.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <set>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera {
namespace {

struct NamePair {
  std::string_view own;
  std::string_view foreign;
};

/// A name ending in '*' stands for itself with "weight" and with "bias".
constexpr NamePair kNames[] = {
    {"cell.content.0.*", "input_projector.fc1.*"},
    {"cell.content.1.*", "input_projector.fc2.*"},
    {"cell.content.2.*", "input_projector.fc3.*"},
    {"cell.pattern.0.*", "input_projector2.fc1.*"},
    {"cell.pattern.1.*", "input_projector2.fc2.*"},
    {"cell.pattern.2.*", "input_projector2.fc3.*"},
    {"cell.attention.0.*", "input_projector3.fc1.*"},
    {"cell.attention.1.*", "input_projector3.fc2.*"},
    {"cell.attention.2.*", "input_projector3.fc3.*"},
    {"cell.item.input_gate.*", "input_gate_projector.*"},
    {"cell.item.memory_gate.*", "memory_gate_projector.*"},
    {"cell.item.input_bias", "input_bias"},
    {"cell.item.forget_bias", "forget_bias"},
    {"cell.item.initial", "item_memory_state_bias"},
    {"cell.self_attention.projection.*", "qkv_projector.0.*"},
    {"cell.self_attention.norm_weight", "qkv_layernorm.0.weight"},
    {"cell.self_attention.norm_bias", "qkv_layernorm.0.bias"},
    {"cell.relational.alpha1", "alpha10"},
    {"cell.relational.alpha2", "alpha20"},
    {"cell.relational.alpha3", "alpha30"},
    {"cell.relational.transfer.*", "rel_projector2.*"},
    {"cell.relational.initial", "rel_memory_state_bias"},
    {"distillation.*", "rel_projector.*"},
    {"readout.*", "rel_projector3.*"},
    {"head.0.*", "mlp.0.*"},
    {"head.2.*", "mlp.2.*"},
    {"head.4.*", "out.*"},
};

using Shape = std::vector<int64_t>;

/// The names and shapes of a configuration's parameters in their state dict.
std::map<std::string, Shape> expected_tensors(const StmConfig& config) {
  const int64_t N = config.slots, D = config.width, R = config.distilled;
  std::map<std::string, Shape> shapes;
  const auto linear = [&](const std::string& name, int64_t in, int64_t out) {
    shapes[name + ".weight"] = {out, in};
    shapes[name + ".bias"] = {out};
  };
  for (const auto& [name, outputs] :
       {std::pair{"input_projector", D}, {"input_projector2", D}, {"input_projector3", N}}) {
    const int64_t hidden = config.projection_hidden;
    linear(fmt::format("{}.fc1", name), config.inputs, hidden > 0 ? hidden : outputs);
    if (hidden > 0) linear(fmt::format("{}.fc2", name), hidden, hidden);
    if (hidden > 0) linear(fmt::format("{}.fc3", name), hidden, outputs);
  }
  linear("input_gate_projector", D, 2 * D);
  linear("memory_gate_projector", D, 2 * D);
  linear("qkv_projector.0", D, 3 * N);
  linear("rel_projector", D * D, R);
  linear("rel_projector2", N * D, D);
  linear("rel_projector3", N * R, config.readout);
  linear("mlp.0", config.readout, config.hidden);
  linear("mlp.2", config.hidden, config.hidden);
  linear("out", config.hidden, config.outputs);
  for (const char* name : {"qkv_layernorm.0.weight", "qkv_layernorm.0.bias"})
    shapes[name] = {D, 3 * N};
  for (const char* name : {"input_bias", "forget_bias"}) shapes[name] = {};
  shapes["item_memory_state_bias"] = {D, D};
  shapes["rel_memory_state_bias"] = {N, D, D};
  if (config.alpha1.learned) shapes["alpha10"] = {1};
  if (config.alpha2.learned) shapes["alpha20"] = {1};
  if (config.alpha3.learned) shapes["alpha30"] = {1};
  return shapes;
}

void check_tensors(const TensorFile& file, const StmConfig& config) {
  std::string faults;
  const auto expected = expected_tensors(config);
  for (const auto& [name, shape] : expected) {
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end())
      faults += fmt::format("\n  {} is missing, expected [{}]", name, fmt::join(shape, ", "));
    else if (found->second.sizes() != at::IntArrayRef(shape))
      faults += fmt::format("\n  {} is [{}], expected [{}]", name,
                            fmt::join(found->second.sizes(), ", "), fmt::join(shape, ", "));
    else if (!found->second.is_floating_point())
      faults += fmt::format("\n  {} holds no floating-point numbers", name);
  }
  for (const auto& [name, tensor] : file.tensors)
    if (!expected.count(name))
      faults += fmt::format("\n  {} [{}] is not expected", name, fmt::join(tensor.sizes(), ", "));
  if (!faults.empty()) throw DataError(file.path, "not a state dict of SAM's STM:{}", faults);
}

}  // namespace

std::optional<std::string> sam_name(const std::string& own_name) {
  for (const auto& [own, foreign] : kNames) {
    if (!own.ends_with('*')) {
      if (own == own_name) return std::string(foreign);
      continue;
    }
    const std::string_view stem = own.substr(0, own.size() - 1);
    if (!own_name.starts_with(stem)) continue;
    const std::string last = own_name.substr(stem.size());
    if (last == "weight" || last == "bias")
      return std::string(foreign.substr(0, foreign.size() - 1)) + last;
  }
  return {};
}

StmConfig sam_config(const TensorFile& file, const std::array<double, 3>& constants) {
  StmConfig config;
  const auto sizes_of = [&](const char* name, size_t dimensions) {
    return file.at(name, Shape(dimensions, -1)).sizes();
  };
  config.inputs = sizes_of("input_projector.fc1.weight", 2)[1];
  config.width = sizes_of("item_memory_state_bias", 2)[0];
  config.slots = sizes_of("rel_memory_state_bias", 3)[0];
  config.distilled = sizes_of("rel_projector.weight", 2)[0];
  config.readout = sizes_of("rel_projector3.weight", 2)[0];
  config.hidden = sizes_of("mlp.0.weight", 2)[0];
  config.outputs = sizes_of("out.weight", 2)[0];
  if (file.tensors.count("input_projector.fc3.weight"))
    config.projection_hidden = sizes_of("input_projector.fc1.weight", 2)[0];
  config.alpha1 = {constants[0], file.tensors.count("alpha10") > 0};
  config.alpha2 = {constants[1], file.tensors.count("alpha20") > 0};
  config.alpha3 = {constants[2], file.tensors.count("alpha30") > 0};
  return config;
}

std::shared_ptr<Stm> import_sam(const TensorFile& file, const std::array<double, 3>& constants) {
  const StmConfig config = sam_config(file, constants);
  check_tensors(file, config);
  const auto model = std::make_shared<Stm>(config, std::nullopt);
  at::NoGradGuard no_grad;
  for (const auto& item : model->named_parameters())
    item.value().copy_(file.tensors.at(sam_name(item.key()).value()));
  return model;
}

}  // namespace tessera
