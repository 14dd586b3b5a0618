// How a Memory Mosaic and a GPT that have learned from stories read another text: the loss at each
// position of the window (Zhang et al. 2024, figure 8).

#include <fmt/format.h>

#include <algorithm>

#include "lab/study/memory_mosaics/network_training.h"
#include "lab/study/memory_mosaics/studies.h"
#include "tessera/base/interrupt.h"

namespace tessera::memory_mosaics_study {
namespace {

struct OutOfDistributionSettings : NetworkSettings {
  std::string other = {};
  int64_t windows = 256;

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    NetworkSettings::visit_fields(field);
    field("other", other, "the other text, a file or a folder; empty: an installed text");
    field("windows", windows, "windows of the other text that are read", config::at_least(1));
  }
};

/// Only the paper's networks are large: stories of a program are alike, and larger networks, or
/// longer trainings, are so sure of themselves that any other text costs them more than a guess.
OutOfDistributionSettings out_of_distribution_settings(StudySize size) {
  if (size == StudySize::kPaper) {
    OutOfDistributionSettings settings = {story_settings(size)};
    settings.windows = 5000;
    return settings;
  }
  OutOfDistributionSettings settings = {story_settings(StudySize::kQuick)};
  settings.data.stories = 40000;
  settings.window = 512;
  settings.train.batch = 4;
  settings.train.evaluate_batches = 16;
  if (size == StudySize::kDefault) return settings;
  settings.data.stories = 5000;
  settings.layers = 2;
  settings.window = 256;
  settings.windows = 64;
  settings.train.evaluate_batches = 4;
  return settings;
}

/// Mean of the losses at positions first, …, last, counted from 1.
double mean_between(const PositionLoss& losses, int64_t first, int64_t last) {
  double sum = 0;
  for (int64_t position = first; position <= last; ++position) sum += losses.nats.at(position - 1);
  return sum / (last - first + 1);
}

/// Groups of positions, each a quarter longer than the one before it.
std::vector<std::pair<int64_t, int64_t>> position_groups(int64_t window) {
  std::vector<std::pair<int64_t, int64_t>> groups;
  for (int64_t first = 1; first <= window;) {
    const int64_t last = std::min(window, std::max(first, first * 5 / 4));
    groups.emplace_back(first, last);
    first = last + 1;
  }
  return groups;
}

using ReadText = std::pair<std::string, PositionLoss>;

void add_position_curves(const std::vector<ReadText>& readers, int64_t window,
                         const std::string& title, const std::string& name,
                         const std::string& caption, StudyResults& results) {
  std::vector<ShownSeries> curves;
  for (const auto& [reader, losses] : readers) {
    curves.push_back({reader + ", " + title, reader});
    for (const auto& [first, last] : position_groups(window))
      results.add_point(
          {curves.back().series, 0.5 * (first + last), mean_between(losses, first, last)});
  }
  results.add_chart(name,
                    results.panel_of_points(title, {"position in the window", Scale::kLog},
                                            {"nats per token"}, curves),
                    caption);
}

/// What the paper says of its figure: how much more a reader learns from the window after its first
/// 50 and 150 tokens.
void add_ranges(const std::vector<ReadText>& readers, int64_t window, StudyResults& results) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  int64_t first = 1;
  for (int64_t last : {int64_t{10}, int64_t{50}, int64_t{150}, window}) {
    if (first > window) break;
    ranges.emplace_back(first, std::min(last, window));
    first = last + 1;
  }
  std::vector<std::string> columns = {"network"};
  for (const auto& [first, last] : ranges)
    columns.push_back(fmt::format("positions {} to {}", first, last));
  Table table("Loss on the other text, nats per token", columns);
  for (const auto& [reader, losses] : readers) {
    std::vector<Cell> row = {reader};
    for (const auto& [first, last] : ranges)
      row.push_back(Cell::fixed(mean_between(losses, first, last), 4));
    table.add_row(std::move(row));
  }
  results.add_table("ranges", std::move(table));
}

}  // namespace

void out_of_distribution(StudyContext& context) {
  const OutOfDistributionSettings settings =
      context.settings(out_of_distribution_settings, kNoSetting);
  const Corpus corpus = prepare_study_corpus(settings.data, context);
  const auto& folder = context.folder();
  const CorpusConfig other_data{
      .text = settings.other,
      .tokenizer = recorded_path(folder / "other-corpus" / "corpus.json", "/config/tokenizer",
                                 folder / "corpus" / "tokenizer.json"),
      .validation_share = 0.5};
  const Corpus other = prepare_study_corpus(other_data, context, "other-corpus");
  check_validation_text(other, settings.window + 1);

  const auto trained = train_networks(
      settings, {network_of("GPT", "gpt"), network_of("Memory Mosaic", "memory_mosaic")}, corpus,
      context);

  std::vector<ReadText> at_home, abroad;
  for (const TrainedNetwork& network : trained) {
    const TextLearner& learner = *network.first().learner;
    at_home.emplace_back(network.name, learner.position_loss());
    abroad.emplace_back(network.name,
                        measure_position_loss(*learner.model(), other, settings.windows,
                                              settings.train.batch, context.progress()));
    InterruptGuard::stop_if_interrupted("stopped");
  }
  StudyResults& results = context.results();
  add_position_curves(
      abroad, settings.window, "Loss on another text", "other-text",
      "Figure 8: both have learned from stories and read a text of another kind. A network "
      "that learns in context goes on falling to the right.",
      results);
  add_ranges(abroad, settings.window, results);
  add_position_curves(at_home, settings.window, "Loss on stories not seen in training", "own-text",
                      "", results);
  add_network_results(trained, corpus, results);
  results.add_difference(fmt::format(
      "Learned from: {}. Read: {}. The paper: BabiStories, and the Simple English Wikipedia.",
      corpus.description, other.description));
  add_token_difference(settings.data, corpus, results);
  add_size_difference(settings, 12, results);
}

}  // namespace tessera::memory_mosaics_study
