#include "tessera/task/language_model/training_config.h"

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/model_kind.h"

namespace tessera {
namespace {

using config::Json;

/// Uses the default kind where none is given.
void check_model(Json& model) {
  if (!model.is_object()) throw UsageError("model is {}, expected a table", model.dump());
  if (!model.contains("kind")) model["kind"] = "memory_mosaic";
  if (!model["kind"].is_string())
    throw UsageError("model.kind is {}, expected a name", model["kind"].dump());
  Json fields = model;
  fields.erase("kind");
  check_language_model(model["kind"].get<std::string>(), fields);
}

}  // namespace

LanguageModelTrainingConfig LanguageModelTrainingConfig::from_json(const Json& json,
                                                                   const std::string& where) {
  LanguageModelTrainingConfig config;
  for (const auto& [key, table] : json.items()) {
    const std::string path = where.empty() ? key : where + ": " + key;
    if (key == "model")
      config.model = table;
    else if (key == "data")
      config::from_json(table, config.data, path);
    else if (key == "train")
      config::from_json(table, config.train, path);
    else if (key == "sample")
      config::from_json(table, config.sample, path);
    else
      throw UsageError("{}: unknown table '{}'{}", where.empty() ? "configuration" : where, key,
                       suggestion(key, {"model", "data", "train", "sample"}));
  }
  try {
    check_model(config.model);
    config.data.check();
    config.train.check();
  } catch (const UsageError& error) {
    throw UsageError("{}{}{}", where, where.empty() ? "" : ": ", error.what());
  }
  return config;
}

Json LanguageModelTrainingConfig::to_json() const {
  return {{"model", model},
          {"data", config::to_json(data)},
          {"train", config::to_json(train)},
          {"sample", config::to_json(sample)}};
}

}  // namespace tessera
