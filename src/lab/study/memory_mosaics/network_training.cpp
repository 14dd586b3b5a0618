#include "lab/study/memory_mosaics/network_training.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/text/training_memory.h"

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
  if (has_heads(model)) config.model["heads"] = settings.heads;
  if (model.at("kind") == "memory_mosaic")
    config.model["parameterisation"] = config::enum_name(settings.parameterisation);
  config.model.update(model);
  config.data = settings.data;
  config.train = settings.train;
  config.sample = settings.sample;
  return config;
}

}  // namespace

NetworkSettings paper_network_settings() {
  NetworkSettings settings;
  settings.parameterisation = Parameterisation::kPaper;
  settings.layers = 12;
  settings.heads = 12;
  settings.channels = 768;
  settings.window = 512;
  settings.data.vocabulary = kGpt2Tokens;
  settings.train = {.steps = 80000,
                    .batch = 8,
                    .accumulation = 64,
                    .learning_rate = 5e-3,
                    .min_learning_rate = 1e-4,
                    .warmup_steps = 2000,
                    .evaluate_every = 500,
                    .evaluate_batches = 640,  // 10 on each of 64 processors
                    .checkpoint_every = 500};
  return settings;
}

NetworkSettings story_settings(StudySize size) {
  if (size == StudySize::kPaper) {
    NetworkSettings settings = paper_network_settings();
    settings.data.stories = 2'222'000;
    settings.data.validation_share = 0.01;
    settings.sample.tokens = 0;
    return settings;
  }
  NetworkSettings settings;
  settings.data.stories = 40000;
  settings.data.vocabulary = 2048;
  settings.sample.tokens = 0;
  settings.channels = 128;
  settings.train = {.steps = 1500,
                    .batch = 8,
                    .learning_rate = 3e-3,
                    .min_learning_rate = 3e-4,
                    .warmup_steps = 100,
                    .evaluate_every = 100,
                    .evaluate_batches = 16,
                    .checkpoint_every = 250};
  if (size == StudySize::kDefault) return settings;
  settings.data.stories = 5000;
  settings.data.vocabulary = 1024;
  settings.channels = 64;
  settings.window = 128;
  settings.train.steps = 400;
  settings.train.evaluate_batches = 4;
  return settings;
}

void check_validation_text(const Corpus& corpus, int64_t tokens) {
  if (corpus.validation.size() < tokens)
    throw UsageError("the validation part of {} has {} tokens; the study reads windows of {}",
                     corpus.description, corpus.validation.size(), tokens);
}

void check_networks(const NetworkSettings& settings, const std::vector<Contestant>& networks,
                    const Corpus& corpus) {
  settings.train.check();
  for (const Contestant& network : networks)
    check_training_memory(training_config(settings, network.model).model,
                          corpus.tokenizer.vocabulary_size(), settings.train.batch);
}

std::vector<TrainedNetwork> train_networks(const NetworkSettings& settings,
                                           const std::vector<Contestant>& networks,
                                           const Corpus& corpus, const StudyContext& context) {
  check_networks(settings, networks, corpus);
  return compare(context, networks, /*runs=*/1, [&](const Contestant& network, uint64_t) {
    LanguageModelTrainingConfig config = training_config(settings, network.model);
    // --seed 1, the default, trains with train.seed itself. config.toml holds 63 bits.
    config.train.seed = (settings.train.seed + context.seed() - 1) &
                        static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return std::make_unique<TextLearner>(config, corpus);
  });
}

Contestant network_of(const std::string& name, const std::string& kind) {
  return {.name = name, .model = {{"kind", kind}}, .folder = kind};
}

double validation_loss(const TrainedNetwork& network) {
  return network.first().trained.validation_loss();
}

bool has_gpt2_tokens(const CorpusConfig& data, const Corpus& corpus) {
  return data.tokenizer != "bpe" && corpus.tokenizer.vocabulary_size() == kGpt2Tokens;
}

void add_token_difference(const CorpusConfig& data, const Corpus& corpus, StudyResults& results) {
  if (has_gpt2_tokens(data, corpus)) return;
  results.add_difference(fmt::format(
      "Tokens: {}{}, not GPT-2's; --set data.tokenizer=FOLDER uses GPT-2's files.",
      corpus.tokenizer.description(), data.tokenizer == "bpe" ? " learned from the text" : ""));
}

void add_text_difference(const CorpusConfig& data, const Corpus& corpus, StudyResults& results) {
  results.add_difference(fmt::format(
      "Text: {}, not BabiStories, which a large language model has written.", corpus.description));
  add_token_difference(data, corpus, results);
}

void add_size_difference(const NetworkSettings& settings, int64_t paper_layers,
                         StudyResults& results) {
  results.add_difference(fmt::format(
      "{} blocks of {} channels, {} steps of {} windows of {} tokens; the paper: {} blocks of 768 "
      "channels, 80,000 steps of 512 windows of 512 tokens.",
      settings.layers, settings.channels, settings.train.steps,
      settings.train.batch * settings.train.accumulation, settings.window, paper_layers));
}

void add_network_results(const std::vector<TrainedNetwork>& networks, const Corpus& corpus,
                         StudyResults& results) {
  std::vector<NamedText> named;
  for (const TrainedNetwork& network : networks)
    named.push_back({network.name, network.first().learner.get(), &network.first().trained});
  add_text_results(named, corpus, results);
}

}  // namespace tessera::memory_mosaics_study
