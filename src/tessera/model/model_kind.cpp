#include "tessera/model/model_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"
#include "tessera/model/detail/embedded.h"
#include "tessera/model/gpt.h"
#include "tessera/model/memory_mosaic.h"
#include "tessera/model/memory_mosaic_v2.h"
#include "tessera/model/sequence_model.h"
#include "tessera/model/stm.h"

namespace tessera {

config::Json sizes_of_blocks(const ForeignSizes& file, std::string_view norm_of_block) {
  const auto embedding = file.shape("embedding", 2);
  int64_t layers = 0;
  while (file.holds(fmt::format("blocks.{}.{}.weight", layers, norm_of_block))) ++layers;
  return {{"vocabulary", file.metadata("vocab_size").value_or(embedding[0])},
          {"layers", file.metadata("n_layer").value_or(layers)},
          {"channels", file.metadata("n_embd").value_or(embedding[1])},
          {"bias", file.holds("norm.bias")},
          {"dropout", 0.0}};
}

std::map<std::string, std::string> metadata_of_blocks(const SequenceModel& model,
                                                      std::string_view window_key) {
  const config::Json fields = model.hyper_parameters();
  return {{"n_layer", fields.at("layers").dump()},
          {"n_head", fields.at("heads").dump()},
          {"n_embd", fields.at("channels").dump()},
          {std::string(window_key), fields.at("window").dump()},
          {"vocab_size", fields.at("vocabulary").dump()},
          {"bias", fields.at("bias").get<bool>() ? "True" : "False"}};
}

namespace {

std::shared_ptr<LanguageModel> as_language_model(std::shared_ptr<SequenceModel> model) {
  auto language_model = std::dynamic_pointer_cast<LanguageModel>(model);
  if (!language_model)
    throw UsageError("model.kind is '{}', which is not a language model", model->kind());
  return language_model;
}

std::vector<ModelKind>& known_kinds() {
  static std::vector<ModelKind> kinds = {memory_mosaic_kind(), memory_mosaic_v2_kind(), gpt_kind(),
                                         stm_kind(), embedded_kind()};
  return kinds;
}

}  // namespace

std::vector<ParameterShape> parameter_shapes(const torch::nn::Module& network) {
  std::vector<ParameterShape> shapes;
  for (const auto& parameter : network.named_parameters())
    shapes.push_back({parameter.key(), parameter.value().sizes().vec()});
  return shapes;
}

const std::vector<ModelKind>& model_kinds() {
  return known_kinds();
}

void add_model_kinds(std::vector<ModelKind> kinds) {
  std::vector<ModelKind> all = model_kinds();
  for (ModelKind& kind : kinds) {
    for (const auto& known : all)
      check_argument(known.name != kind.name, "add_model_kinds: '{}' is known already", kind.name);
    all.push_back(std::move(kind));
  }
  known_kinds() = std::move(all);
}

const ModelKind& model_kind(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& kind : model_kinds()) {
    if (kind.name == name) return kind;
    names.emplace_back(kind.name);
  }
  throw UsageError("model.kind is '{}', expected one of: {}{}", name, fmt::join(names, ", "),
                   suggestion(std::string(name), names));
}

std::pair<std::string, config::Json> kind_and_fields(const config::Json& table,
                                                     std::string_view what) {
  if (!table.is_object() || !table.contains("kind"))
    throw UsageError("{} is {}, expected a table with 'kind', a name", what, table.dump());
  if (!table["kind"].is_string())
    throw UsageError("{}.kind is {}, expected a name", what, table["kind"].dump());
  config::Json fields = table;
  fields.erase("kind");
  return {table["kind"].get<std::string>(), std::move(fields)};
}

std::shared_ptr<LanguageModel> make_language_model(std::string_view kind,
                                                   const config::Json& hyper_parameters,
                                                   std::optional<uint64_t> seed) {
  return as_language_model(model_kind(kind).make(hyper_parameters, seed, at::kCPU));
}

void check_language_model(std::string_view kind, const config::Json& hyper_parameters) {
  as_language_model(model_kind(kind).make(hyper_parameters, std::nullopt, at::kMeta));
}

std::vector<ParameterShape> parameter_shapes(std::string_view kind,
                                             const config::Json& hyper_parameters) {
  return parameter_shapes(*model_kind(kind).make(hyper_parameters, std::nullopt, at::kMeta));
}

}  // namespace tessera
