#include "tessera/text/text_learner.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/config.h"
#include "tessera/base/error.h"
#include "tessera/checkpoint/source_model.h"
#include "tessera/model/model_kind.h"

namespace tessera {
namespace {

using config::Json;

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
  config::saying_where(where, [&] {
    config.from = take_source_model(config.model);
    if (!config.from.empty())
      use_tokenizer_of(config.from, json.value("data", Json::object()), config.data);
    check_model(config.model);
    config.data.check();
    config.train.check();
  });
  return config;
}

Json LanguageModelTrainingConfig::to_json() const {
  return {{"model", with_source_model(model, from)},
          {"data", config::to_json(data)},
          {"train", config::to_json(train)},
          {"sample", config::to_json(sample)}};
}

}  // namespace tessera
