#include "tessera/text/training_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/config_tables.h"
#include "tessera/base/error.h"
#include "tessera/checkpoint/model_directory.h"
#include "tessera/model/model_kind.h"

namespace tessera {
namespace {

using config::Json;

constexpr std::array<std::string_view, 2> kFieldsToChange = {"dropout", "precision"};

/// Fills in the fields of the model in `folder`.
void go_on_from(const std::string& folder, Json& model) {
  Json fields = model_table(folder);
  for (const auto& [key, value] : model.items()) {
    const bool may_change = std::count(kFieldsToChange.begin(), kFieldsToChange.end(), key) > 0;
    if (!fields.contains(key) || (!may_change && fields[key] != value))
      throw UsageError(
          "model.{} is {}, the model in '{}' has {}; training that goes on from a model may change "
          "model.{} only",
          key, value.dump(), folder, fields.contains(key) ? fields[key].dump() : "no such field",
          fmt::join(kFieldsToChange, " and model."));
    fields[key] = value;
  }
  model = fields;
}

/// Training goes on with the tokens that the model knows.
void use_tokenizer_of(const std::string& folder, const Json& given, CorpusConfig& data) {
  const std::string path = (std::filesystem::path(folder) / "tokenizer.json").native();
  if (given.contains("tokenizer") && given["tokenizer"] != path)
    throw UsageError("data.tokenizer is {}, but model.from uses {}; leave data.tokenizer out",
                     given["tokenizer"].dump(), path);
  if (!std::filesystem::exists(path))
    throw UsageError(
        "model.from: '{}' has no tokenizer.json; import the model with --tokenizer, or copy its "
        "tokenizer there",
        folder);
  data.tokenizer = path;
}

/// Uses the default kind where none is given.
void check_model(Json& model) {
  if (!model.is_object()) throw UsageError("model is {}, expected a table", model.dump());
  if (!model.contains("kind")) model["kind"] = "memory_mosaic";
  const auto [kind, fields] = kind_and_fields(model);
  check_language_model(kind, fields);
}

}  // namespace

LanguageModelTrainingConfig LanguageModelTrainingConfig::from_json(const Json& json,
                                                                   const std::string& where) {
  LanguageModelTrainingConfig config;
  config::read_tables(json,
                      {{"model", &config.model},
                       {"data", config::fields_of(config.data)},
                       {"train", config::fields_of(config.train)},
                       {"sample", config::fields_of(config.sample)}},
                      where);
  try {
    if (config.model.is_object() && config.model.contains("from")) {
      if (!config.model["from"].is_string())
        throw UsageError("model.from is {}, expected a model directory",
                         config.model["from"].dump());
      config.from = config.model["from"].get<std::string>();
      config.model.erase("from");
      go_on_from(config.from, config.model);
      use_tokenizer_of(config.from, json.value("data", Json::object()), config.data);
    }
    check_model(config.model);
    config.data.check();
    config.train.check();
  } catch (const UsageError& error) {
    throw UsageError("{}{}{}", where, where.empty() ? "" : ": ", error.what());
  }
  return config;
}

Json LanguageModelTrainingConfig::to_json() const {
  Json table = model;
  if (!from.empty()) table["from"] = from;
  return {{"model", table},
          {"data", config::to_json(data)},
          {"train", config::to_json(train)},
          {"sample", config::to_json(sample)}};
}

}  // namespace tessera
