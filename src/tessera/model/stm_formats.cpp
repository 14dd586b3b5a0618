// A two-memory model as a kind of model, and the format in which its authors' code keeps its
// weights.

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/model/model_kind.h"
#include "tessera/model/stm.h"

namespace tessera {
namespace {

config::Json stm_hyper_parameters(const ForeignSizes& file) {
  const auto first_map = file.shape("cell.content.0.weight", 2);
  const auto size = [&](const char* key, int64_t of_shape) {
    return file.metadata(key).value_or(of_shape);
  };
  return {{"inputs", size("input", first_map[1])},
          {"outputs", size("output", file.shape("head.4.weight", 2)[0])},
          {"slots", size("num_slot", file.shape("cell.relational.initial", 3)[0])},
          {"width", size("slot_size", file.shape("cell.item.initial", 2)[0])},
          {"distilled", size("rel_size", file.shape("distillation.weight", 2)[0])},
          {"readout", size("out_att_size", file.shape("readout.weight", 2)[0])},
          {"hidden", size("mlp_size", file.shape("head.0.weight", 2)[0])},
          {"projection_hidden", file.holds("cell.content.2.weight") ? first_map[0] : 0}};
}

std::map<std::string, std::string> stm_metadata(const SequenceModel& model) {
  const config::Json fields = model.hyper_parameters();
  for (const char* factor : {"alpha1", "alpha2", "alpha3"})
    if (!fields.at(factor).at("learned").get<bool>())
      throw UsageError(
          "a sam file holds models with learned factors; {} of this one is a constant, which the "
          "file could not tell",
          factor);
  return {{"input", fields.at("inputs").dump()},        {"output", fields.at("outputs").dump()},
          {"num_slot", fields.at("slots").dump()},      {"slot_size", fields.at("width").dump()},
          {"rel_size", fields.at("distilled").dump()},  {"mlp_size", fields.at("hidden").dump()},
          {"out_att_size", fields.at("readout").dump()}};
}

std::vector<NameRow> names() {
  return {
      {"cell.content.0.*", "input_projector.fc1.*"},
      {"cell.content.1.*", "input_projector.fc2.*"},
      {"cell.content.2.*", "input_projector.fc3.*"},
      {"cell.pattern.0.*", "input_projector2.fc1.*"},
      {"cell.pattern.1.*", "input_projector2.fc2.*"},
      {"cell.pattern.2.*", "input_projector2.fc3.*"},
      {"cell.attention.0.*", "input_projector3.fc1.*"},
      {"cell.attention.1.*", "input_projector3.fc2.*"},
      {"cell.attention.2.*", "input_projector3.fc3.*"},
      {"cell.item.initial", "item_memory_state_bias"},
      {"cell.item.input_gate.*", "input_gate_projector.*"},
      {"cell.item.memory_gate.*", "memory_gate_projector.*"},
      {"cell.item.input_bias", "input_bias"},
      {"cell.item.forget_bias", "forget_bias"},
      {"cell.self_attention.projection.*", "qkv_projector.0.*"},
      {"cell.self_attention.norm_weight", "qkv_layernorm.0.weight"},
      {"cell.self_attention.norm_bias", "qkv_layernorm.0.bias"},
      {"cell.relational.initial", "rel_memory_state_bias"},
      {"cell.relational.alpha1", "alpha10"},
      {"cell.relational.alpha2", "alpha20"},
      {"cell.relational.alpha3", "alpha30"},
      {"cell.relational.transfer.*", "rel_projector2.*"},
      {"distillation.*", "rel_projector.*"},
      {"readout.*", "rel_projector3.*"},
      {"head.0.*", "mlp.0.*"},
      {"head.2.*", "mlp.2.*"},
      {"head.4.*", "out.*"},
  };
}

}  // namespace

/// The format is that of `stm_basic.STM` of thaihungle/SAM. A factor that was a constant there is
/// missing in a state dict, which does not tell its value: such files are refused.
ModelKind stm_kind() {
  WeightFormat sam;
  sam.name = "sam";
  sam.names = names();
  sam.implied = {{"variant", R"("authors")"}, {"gated", "true"}};
  sam.hyper_parameters = stm_hyper_parameters;
  sam.metadata = stm_metadata;
  return model_kind_of<Stm>(
      "two-memory model: item and relational memory; reads and writes vectors", {sam});
}

}  // namespace tessera
