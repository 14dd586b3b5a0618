// Training and validation losses of Memory Mosaics and GPTs of several depths, on the same batches
// in the same order (Zhang et al. 2024, figures 7 and 13).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/study/memory_mosaics/network_training.h"
#include "lab/study/memory_mosaics/studies.h"
#include "tessera/base/error.h"
#include "tessera/text/training_report.h"

namespace tessera::memory_mosaics_study {
namespace {

struct DepthSettings : NetworkSettings {
  std::vector<int64_t> depths = {1, 4, 8};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    NetworkSettings::visit_fields(field);
    field("depths", depths, "blocks of the networks, in place of `layers`");
  }
};

constexpr const char* kPrompt = "Once upon a time";

DepthSettings default_depth() {
  DepthSettings settings = {story_settings()};
  settings.sample = {.prompt = kPrompt, .tokens = 100};
  return settings;
}

DepthSettings quick_depth() {
  DepthSettings settings = {few_story_settings()};
  settings.sample = {.prompt = kPrompt, .tokens = 100};
  settings.depths = {1, 4};
  settings.train.steps = 300;
  settings.train.warmup_steps = 30;
  settings.train.evaluate_every = 50;
  return settings;
}

DepthSettings paper_depth() {
  DepthSettings settings = {paper_story_settings()};
  settings.sample = {.prompt = kPrompt, .tokens = 100};
  settings.depths = {1, 4, 8, 12, 18};
  return settings;
}

std::string blocks(int64_t depth) {
  return fmt::format("{} block{}", depth, depth == 1 ? "" : "s");
}

/// Zhang et al. 2024: 12 blocks after 80,000 steps on BabiStories, validation. The curves of one
/// block end at about 1.9 and 2.0.
double published_ratio(int64_t depth) {
  return depth == 1 ? 1.9 / 2.0 : depth == 12 ? 1.498 / 1.494 : NAN;
}

}  // namespace

void depth(StudyContext& context) {
  const DepthSettings settings =
      context.settings(quick_depth(), default_depth(), paper_depth(), kNoSetting);
  if (settings.depths.empty()) throw UsageError("depths must name at least one");
  StudyResults& results = context.results();
  const Corpus corpus = prepare_study_corpus(settings.data, context);
  std::vector<TrainedLanguageModel> trained;
  std::vector<std::string> names;
  Table table("Validation loss by depth, nats per token",
              {"blocks", "GPT", "Memory Mosaic", "Memory Mosaic / GPT", "published"});
  for (int64_t depth : settings.depths) {
    const auto train = [&](const std::string& kind) {
      return train_network(settings, fmt::format("{}-{}", kind, depth),
                           {{"kind", kind}, {"layers", depth}}, corpus, context);
    };
    const TrainedLanguageModel gpt = train("gpt"), mosaic = train("memory_mosaic");
    const double ratio = mosaic.validation_loss / gpt.validation_loss;
    const double published = published_ratio(depth);
    table.add_row({depth, Cell::fixed(gpt.validation_loss, 4),
                   Cell::fixed(mosaic.validation_loss, 4), Cell::fixed(ratio, 4),
                   std::isnan(published) ? Cell("") : Cell::fixed(published, 4)});
    if (!std::isnan(published))
      results.compare({.what = "validation loss, Memory Mosaic over GPT, " + blocks(depth),
                       .published = published,
                       .ours = ratio,
                       .digits = 4});
    names.push_back("GPT, " + blocks(depth));
    trained.push_back(gpt);
    names.push_back("Memory Mosaic, " + blocks(depth));
    trained.push_back(mosaic);
  }
  results.add_table("depths", std::move(table));
  std::vector<NamedTraining> named;
  for (size_t i = 0; i < trained.size(); ++i) named.push_back({names[i], &trained[i]});
  add_training_results(named, corpus, results);
  results.add_difference(fmt::format(
      "Text: {}, not BabiStories, which a large language model has written.", corpus.description));
  results.add_difference(fmt::format(
      "Depths {}, {} channels, {} steps of {} windows of {} tokens, the same learning rate for "
      "all; the paper: 768 channels, 80,000 steps of 512 windows of 512 tokens, tuned on the GPT.",
      fmt::join(settings.depths, ", "), settings.channels, settings.train.steps,
      settings.train.batch * settings.train.accumulation, settings.window));
}

}  // namespace tessera::memory_mosaics_study
