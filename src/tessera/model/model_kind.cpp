#include "tessera/model/model_kind.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"
#include "tessera/model/complex_mosaic.h"
#include "tessera/model/detail/embedded.h"
#include "tessera/model/gpt.h"
#include "tessera/model/memory_mosaic.h"
#include "tessera/model/memory_mosaic_v2.h"
#include "tessera/model/question_answerer.h"
#include "tessera/model/stm.h"

namespace tessera {
namespace {

std::shared_ptr<LanguageModel> as_language_model(std::shared_ptr<SequenceModel> model) {
  auto language_model = std::dynamic_pointer_cast<LanguageModel>(model);
  if (!language_model)
    throw UsageError("model.kind is '{}', which is not a language model", model->kind());
  return language_model;
}

std::vector<ModelKind>& known_kinds() {
  static std::vector<ModelKind> kinds = {
      memory_mosaic_kind(), memory_mosaic_v2_kind(), gpt_kind(), stm_kind(), complex_mosaic_kind(),
      embedded_kind(),      question_answerer_kind()};
  return kinds;
}

}  // namespace

std::vector<ParameterShape> parameter_shapes(const torch::nn::Module& network) {
  std::vector<ParameterShape> shapes;
  for (const auto& parameter : network.named_parameters())
    shapes.push_back({parameter.key(), parameter.value().sizes().vec()});
  return shapes;
}

int64_t count_parameters(const std::vector<ParameterShape>& shapes) {
  int64_t count = 0;
  for (const auto& [name, shape] : shapes)
    count += std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return count;
}

const std::vector<ModelKind>& model_kinds() {
  return known_kinds();
}

void add_model_kinds(std::vector<ModelKind> kinds) {
  for (ModelKind& kind : kinds) {
    for (const auto& known : model_kinds())
      check_argument(known.name != kind.name, "add_model_kinds: '{}' is known already", kind.name);
    known_kinds().push_back(std::move(kind));
  }
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
