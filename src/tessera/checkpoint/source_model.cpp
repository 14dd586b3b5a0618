#include "tessera/checkpoint/source_model.h"

#include <ATen/core/grad_mode.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/checkpoint/model_directory.h"

namespace tessera {

using config::Json;

namespace {

/// Whether all that is given is so in the whole; tables may leave out keys, in any order.
bool agrees(const Json& given, const Json& whole) {
  if (!given.is_object() || !whole.is_object()) return given == whole;
  for (const auto& [key, value] : given.items())
    if (!whole.contains(key) || !agrees(value, whole[key])) return false;
  return true;
}

/// Writes what is given over the fields of the model in `folder`. Whoever does not name the kind
/// "embedded" means the model behind the embedding. path: "model" or "model.model".
void change(Json& fields, const Json& given, const std::string& folder, const std::string& path) {
  constexpr std::array<std::string_view, 2> kMayDiffer = {"dropout", "precision"};
  const bool embedded = fields.is_object() && fields.value("kind", Json()) == "embedded";
  if (embedded && given.value("kind", Json()) != "embedded")
    return change(fields["model"], given, folder, path);
  for (const auto& [key, value] : given.items()) {
    const bool known = fields.contains(key);
    if (known && agrees(value, fields[key])) continue;
    if (embedded && key == "model" && value.is_object()) {
      change(fields[key], value, folder, path + "." + key);
      continue;
    }
    if (!known || std::ranges::find(kMayDiffer, key) == kMayDiffer.end())
      throw UsageError(
          "{}.{} is {}, the model in '{}' has {}; training that goes on from a model may change "
          "model.{} only",
          path, key, value.dump(), folder, known ? fields[key].dump() : "no such field",
          fmt::join(kMayDiffer, " and model."));
    fields[key] = value;
  }
}

}  // namespace

SourceModel take_source_model(Json& model, const Json& begun) {
  if (!model.is_object() || !model.contains("from")) return {};
  if (!model["from"].is_string())
    throw UsageError("model.from is {}, expected a model directory", model["from"].dump());
  const std::string folder = model["from"];
  const bool has_begun = begun.is_object() && begun.value("from", Json()) == folder;
  Json fields = has_begun ? begun : model_table(std::filesystem::path(folder));
  fields.erase("from");
  model.erase("from");
  change(fields, model, folder, "model");
  model = std::move(fields);
  return {folder, has_begun};
}

Json with_source_model(Json model, const SourceModel& source) {
  if (!source.folder.empty()) model["from"] = source.folder;
  return model;
}

void copy_weights(const SourceModel& source, SequenceModel& model) {
  const std::string& folder = source.folder;
  if (folder.empty() || source.has_begun) return;
  if (const auto weights = weights_of_model(folder); weights != ops::WeightType::kFloat32)
    throw DataError(folder,
                    "keeps its weights in {}, which are only read; train on from the model in "
                    "float32 that it was exported from",
                    config::enum_name(weights));
  const auto loaded = load_sequence_model(folder);
  at::NoGradGuard no_grad;
  const auto weights = loaded->named_parameters();
  for (auto& parameter : model.named_parameters())
    parameter.value().copy_(weights[parameter.key()]);
}

}  // namespace tessera
