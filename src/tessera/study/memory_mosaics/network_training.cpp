#include "tessera/study/memory_mosaics/network_training.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"

namespace tessera::memory_mosaics_study {
namespace {

LanguageModelTrainingConfig training_config(const NetworkSettings& settings,
                                            const config::Json& model) {
  LanguageModelTrainingConfig config;
  config.model = {{"layers", settings.layers},
                  {"channels", settings.channels},
                  {"window", settings.window},
                  {"dropout", settings.dropout},
                  {"precision", config::enum_name(settings.precision)}};
  const auto kind = model.at("kind").get<std::string>();
  if (kind != "lstm") config.model["heads"] = settings.heads;
  if (kind == "memory_mosaic")
    config.model["parameterisation"] = config::enum_name(settings.parameterisation);
  config.model.update(model);
  config.data = settings.data;
  config.train = settings.train;
  config.sample = settings.sample;
  return config;
}

}  // namespace

Corpus prepare_study_corpus(const CorpusConfig& data, const StudyContext& context,
                            const std::string& folder) {
  const auto path = context.folder() / folder;
  const bool begun = std::filesystem::exists(path / "corpus.json");
  Corpus corpus =
      prepare_corpus(data, path, begun ? Start::kResume : Start::kNew, context.progress());
  if (context.progress())
    fmt::print(context.progress(), "Text: {}; {}; {} training and {} validation tokens\n",
               corpus.description, corpus.tokenizer.description(), corpus.training.size(),
               corpus.validation.size());
  return corpus;
}

TrainedLanguageModel train_network(const NetworkSettings& settings, const std::string& name,
                                   const config::Json& model, const Corpus& corpus,
                                   const StudyContext& context) {
  const auto folder = context.folder() / name;
  const bool begun = std::filesystem::exists(folder / "metrics.jsonl");
  const RunFolder run(folder, begun ? Start::kResume : Start::kNew);
  TrainedLanguageModel trained =
      train_language_model(training_config(settings, model), corpus, run, context.progress());
  if (!trained.missing.empty())
    throw Interrupted(fmt::format("stopped after the training in {}; the same command continues",
                                  run.path().native()));
  return trained;
}

}  // namespace tessera::memory_mosaics_study
