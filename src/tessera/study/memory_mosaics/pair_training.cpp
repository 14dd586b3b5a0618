#include "tessera/study/memory_mosaics/pair_training.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"

namespace tessera::memory_mosaics_study {
namespace {

LanguageModelTrainingConfig training_config(const PairSettings& settings, const std::string& kind) {
  LanguageModelTrainingConfig config;
  config.model = {{"kind", kind},
                  {"layers", settings.layers},
                  {"heads", settings.heads},
                  {"channels", settings.channels},
                  {"window", settings.window},
                  {"dropout", settings.dropout},
                  {"precision", config::enum_name(settings.precision)}};
  config.data = settings.data;
  config.train = settings.train;
  config.sample = settings.sample;
  return config;
}

bool has_begun(const StudyContext& context, const std::string& kind) {
  return std::filesystem::exists(context.folder() / kind / "metrics.jsonl");
}

}  // namespace

Corpus prepare_pair_corpus(const PairSettings& settings, const StudyContext& context) {
  const bool begun = has_begun(context, "memory_mosaic");
  Corpus corpus = prepare_corpus(settings.data, context.folder() / "corpus",
                                 begun ? Start::kResume : Start::kNew, context.progress());
  if (context.progress())
    fmt::print(context.progress(), "Text: {}; {}; {} training and {} validation tokens\n",
               corpus.description, corpus.tokenizer.description(), corpus.training.size(),
               corpus.validation.size());
  return corpus;
}

TrainedLanguageModel train_one_of_pair(const PairSettings& settings, const std::string& kind,
                                       const Corpus& corpus, const StudyContext& context) {
  const RunFolder run(context.folder() / kind,
                      has_begun(context, kind) ? Start::kResume : Start::kNew);
  TrainedLanguageModel trained =
      train_language_model(training_config(settings, kind), corpus, run, context.progress());
  if (!trained.missing.empty())
    throw Interrupted(fmt::format("stopped after the training in {}; the same command continues",
                                  run.path().native()));
  return trained;
}

}  // namespace tessera::memory_mosaics_study
