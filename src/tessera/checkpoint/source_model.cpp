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

std::string take_source_model(Json& model) {
  constexpr std::array<std::string_view, 2> kMayDiffer = {"dropout", "precision"};
  if (!model.is_object() || !model.contains("from")) return "";
  if (!model["from"].is_string())
    throw UsageError("model.from is {}, expected a model directory", model["from"].dump());
  const std::string folder = model["from"];
  model.erase("from");
  Json fields = model_table(folder);
  for (const auto& [key, value] : model.items()) {
    const bool may_differ = std::ranges::find(kMayDiffer, key) != kMayDiffer.end();
    const bool differs = !fields.contains(key) ||
                         nlohmann::json(fields[key]) != nlohmann::json(value);  // in any order
    if (!fields.contains(key) || (!may_differ && differs))
      throw UsageError(
          "model.{} is {}, the model in '{}' has {}; training that goes on from a model may change "
          "model.{} only",
          key, value.dump(), folder, fields.contains(key) ? fields[key].dump() : "no such field",
          fmt::join(kMayDiffer, " and model."));
    fields[key] = value;
  }
  model = std::move(fields);
  return folder;
}

Json with_source_model(Json model, const std::string& folder) {
  if (!folder.empty()) model["from"] = folder;
  return model;
}

void copy_weights(const std::filesystem::path& folder, SequenceModel& model) {
  if (const auto weights = weights_of_model(folder); weights != ops::WeightType::kFloat32)
    throw DataError(folder.native(),
                    "keeps its weights in {}, which are only read; train on from the model in "
                    "float32 that it was exported from",
                    config::enum_name(weights));
  const auto source = load_sequence_model(folder);
  at::NoGradGuard no_grad;
  const auto weights = source->named_parameters();
  for (auto& parameter : model.named_parameters())
    parameter.value().copy_(weights[parameter.key()]);
}

}  // namespace tessera
