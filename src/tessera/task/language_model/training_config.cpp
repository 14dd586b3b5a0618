#include "tessera/task/language_model/training_config.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tessera/base/error.h"
#include "tessera/base/suggestion.h"
#include "tessera/checkpoint/model_directory.h"

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

/// "train.learning_rate" and so on with their values.
std::map<std::string, Json> leaves(const Json& tables) {
  std::map<std::string, Json> result;
  for (const auto& [table, fields] : tables.items())
    for (const auto& [key, value] : fields.items()) result[table + "." + key] = value;
  return result;
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

void check_same_run(const std::filesystem::path& file, const Json& now) {
  static const std::set<std::string> kMayChange = {"train.steps", "train.threads",
                                                   "train.checkpoint_every",
                                                   "train.keep_checkpoints", "train.sample_every"};
  const auto began = leaves(
      LanguageModelTrainingConfig::from_json(config::read_toml(file), file.native()).to_json());
  for (const auto& [key, value] : leaves(now)) {
    const auto before = began.find(key);
    if (before == began.end() || before->second == value) continue;
    if (key.starts_with("sample.") || kMayChange.count(key)) continue;
    throw UsageError(
        "{} began with {} = {}, now it is {}; give the same value to continue it, or another "
        "folder",
        file.parent_path().native(), key, before->second.dump(), value.dump());
  }
}

}  // namespace tessera
