// How a Memory Mosaic learns where there is time for few steps: the two published parameterisations
// beside a GPT, each with the best of the same learning rates.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lab/study/comparison.h"
#include "lab/study/memory_mosaics/network_training.h"
#include "lab/study/memory_mosaics/studies.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/statistics.h"
#include "tessera/model/language_model.h"
#include "tessera/train/metrics_log.h"

namespace tessera::memory_mosaics_study {
namespace {

struct SmallBudgetSettings : NetworkSettings {
  std::vector<std::string> texts = {""};
  std::vector<int64_t> sizes = {32, 64, 128};
  std::vector<double> learning_rates = {3e-3, 6e-3, 1.2e-2};
  int64_t seeds = 3;

  static inline const SettingNames kSetByStudy = {"train.seed", "train.learning_rate", "data.text",
                                                  "data.stories"};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    NetworkSettings::visit_fields(all_but({"channels", "parameterisation"}, field));
    field("texts", texts,
          "text files or folders; empty: an installed text; stories: generated stories");
    field("sizes", sizes, "channels of the networks");
    field("learning_rates", learning_rates,
          "those tried for each network, which the lowest rate follows in proportion; the loss on "
          "one half of the validation text decides",
          config::above(0));
    field("seeds", seeds,
          "trainings of each network with its best learning rate and another seed, measured on the "
          "other half",
          config::at_least(1));
  }
};

SmallBudgetSettings small_budget_settings(StudySize size) {
  SmallBudgetSettings settings;
  settings.texts = {"", "stories"};
  settings.data.vocabulary = 2048;
  settings.window = 128;
  settings.sample.tokens = 0;
  settings.train = {.steps = 500,
                    .batch = 8,
                    .learning_rate = 3e-3,
                    .min_learning_rate = 3e-4,
                    .warmup_steps = 50,
                    .evaluate_every = 50,
                    .evaluate_batches = 16,
                    .checkpoint_every = 250};
  if (size == StudySize::kQuick) {
    settings.texts = {""};
    settings.sizes = {64};
    settings.layers = 2;
    settings.learning_rates = {6e-3};
    settings.seeds = 1;
    settings.window = 64;
    settings.data.vocabulary = 1024;
    settings.train.steps = 300;
  } else if (size == StudySize::kPaper) {
    settings.sizes = {128, 256, 384};
    settings.window = 256;
    settings.learning_rates = {1.5e-3, 3e-3, 6e-3, 1.2e-2};
    settings.data.vocabulary = 4096;
    settings.train.steps = 2000;
    settings.train.warmup_steps = 200;
  }
  return settings;
}

/// Contestant::folder: what those of its trainings begin with.
const std::vector<Contestant>& budget_networks() {
  const auto mosaic = [](const char* parameterisation) {
    return Contestant{.name = fmt::format("Memory Mosaic, {}", parameterisation),
                      .model = {{"kind", "memory_mosaic"}, {"parameterisation", parameterisation}},
                      .folder = parameterisation};
  };
  static const std::vector<Contestant> all = {
      {.name = "GPT", .model = {{"kind", "gpt"}}, .folder = "gpt"},
      mosaic("nano"),
      mosaic("paper"),
  };
  return all;
}

/// One network on one text: its losses by learning rate on the half of the validation text that
/// chooses, and with the best of them by seed on the other.
struct Result {
  std::map<double, double> by_rate;
  double best_rate = 0;
  std::vector<double> by_seed;
  int64_t parameters = 0;
  std::filesystem::path first_run;  ///< of by_seed

  Spread loss() const { return spread_of(by_seed); }
};

TrainedNetwork train_once(NetworkSettings settings, Contestant network, double rate, uint64_t seed,
                          const std::string& place, const Corpus& corpus,
                          const StudyContext& context) {
  settings.train = at_rate(settings.train, rate);
  settings.train.seed = seed;
  network.folder = fmt::format("{}/{}-rate-{}-seed-{}", place, network.folder, rate, seed);
  if (context.progress()) fmt::print(context.progress(), "{}\n", network.folder);
  return train_networks(settings, {network}, corpus, context).front();
}

/// A text with one half of its validation part, which chooses learning rates and the weights that a
/// training keeps, and with the other.
struct Halves {
  Corpus choosing, reporting;
};
Halves halves_of(const Corpus& corpus, int64_t window) {
  Halves halves{corpus, corpus};
  std::tie(halves.choosing.validation, halves.reporting.validation) =
      corpus.validation.split_tail(0.5);
  check_validation_text(halves.choosing, window + 1);  // the other half is not shorter
  return halves;
}

/// The loss of a trained network on as many windows of a text as an evaluation reads.
double loss_on(const Corpus& text, const TrainedNetwork& network, const TrainConfig& train,
               const StudyContext& context) {
  const PositionLoss losses =
      measure_position_loss(*network.first().learner->model(), text,
                            train.evaluate_batches * train.batch, train.batch, context.progress());
  InterruptGuard::stop_if_interrupted("stopped");
  return spread_of(losses.nats).mean;
}

Result measure_network(const SmallBudgetSettings& settings, const NetworkSettings& sized,
                       const Contestant& network, const std::string& place, const Halves& text,
                       const StudyContext& context) {
  Result result;
  for (double rate : settings.learning_rates) {
    const auto trained = unless_diverged([&] {
      return train_once(sized, network, rate, context.seed(), place, text.choosing, context);
    });
    result.by_rate[rate] = trained ? validation_loss(*trained) : INFINITY;
  }
  result.best_rate = std::ranges::min_element(result.by_rate, {}, [](const auto& tried) {
                       return tried.second;
                     })->first;
  for (int64_t run = 1; run <= settings.seeds; ++run) {
    const auto trained = train_once(sized, network, result.best_rate, context.training_seed(run),
                                    place, text.choosing, context);
    result.by_seed.push_back(loss_on(text.reporting, trained, sized.train, context));
    result.parameters = trained.first().learner->parameter_count();
    if (run == 1) result.first_run = trained.first().trained.folder;
  }
  return result;
}

/// where: in words; file: names the picture's file, apart from those of all other texts and sizes.
void add_budget_curves(const std::vector<Result>& outcomes, const std::string& where,
                       const std::string& file, StudyResults& results) {
  std::vector<ShownSeries> curves;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const std::string& network = budget_networks()[i].name;
    curves.push_back({network + ", " + where, network});
    for (const auto& [step, metrics] : logged_evaluations(outcomes[i].first_run))
      results.add_point({curves.back().series, static_cast<double>(step), metrics.at("loss")});
  }
  results.add_chart(
      "curves-" + file,
      results.panel_of_points("Validation loss: " + where, {"step"}, {"nats per token"}, curves),
      "Each with its best learning rate, on the half of the validation text that chooses.");
}

/// The text in the study's words, and as the [data] table has it.
std::string name_of(const std::string& text) {
  return text.empty() ? "the machine's text" : text;
}
CorpusConfig data_of(const std::string& text, CorpusConfig data) {
  constexpr int64_t kStories = 5000;
  if (text == "stories")
    data.stories = kStories;
  else
    data.text = text;
  return data;
}

/// What the study prints of every text and size.
struct Tables {
  Table losses{
      "Loss on the half of the validation text by which nothing was chosen, nats per token, mean ± "
      "deviation over seeds",
      {"text", "channels", "network", "parameters", "loss", "over GPT", "best rate"}};
  Table searches{
      "Learning rates tried, with another seed; loss on the half of the validation text that "
      "chooses",
      {"text", "channels", "network", "rate", "loss"}};

  void add(const std::string& text, int64_t channels, const std::vector<Result>& outcomes) {
    for (size_t i = 0; i < outcomes.size(); ++i) {
      const Result& outcome = outcomes[i];
      const Spread loss = outcome.loss();
      losses.add_row({text, channels, budget_networks()[i].name, outcome.parameters,
                      fmt::format("{:.4f}{}", loss.mean, deviation_text(loss, 4)),
                      Cell::fixed(loss.mean / outcomes[0].loss().mean, 4),
                      fmt::format("{}", outcome.best_rate)});
      for (const auto& [rate, found] : outcome.by_rate)
        searches.add_row({text, channels, budget_networks()[i].name, fmt::format("{}", rate),
                          std::isfinite(found) ? Cell::fixed(found, 4) : Cell("diverged")});
    }
  }
};

/// The settings of the networks of this size on this text.
NetworkSettings sized_networks(const SmallBudgetSettings& settings, const std::string& text,
                               int64_t channels) {
  NetworkSettings sized = settings;
  sized.data = data_of(text, settings.data);
  sized.channels = channels;
  return sized;
}

/// All networks of all sizes on one text, in the folder `place`.
void train_on(const std::string& text, const Halves& halves, const std::string& place,
              const SmallBudgetSettings& settings, StudyContext& context, Tables& tables) {
  for (int64_t channels : settings.sizes) {
    const NetworkSettings sized = sized_networks(settings, text, channels);
    std::vector<Result> outcomes;
    for (const Contestant& network : budget_networks())
      outcomes.push_back(measure_network(settings, sized, network,
                                         fmt::format("{}/channels-{}", place, channels), halves,
                                         context));
    tables.add(name_of(text), channels, outcomes);
    const std::string where = fmt::format("{}, {} channels", name_of(text), channels);
    add_budget_curves(outcomes, where, fmt::format("{}-{}-channels", place, channels),
                      context.results());
    for (size_t i = 1; i < outcomes.size(); ++i)
      context.results().compare(
          {.what = fmt::format("{} over GPT, {}", budget_networks()[i].name, where),
           .published = kPublishedRatio,
           .ours = outcomes[i].loss().mean / outcomes[0].loss().mean,
           .digits = 4});
  }
}

}  // namespace

void small_budget(StudyContext& context) {
  const SmallBudgetSettings settings = context.settings(small_budget_settings, kNoSetting);
  check_list("texts", settings.texts);
  check_list("sizes", settings.sizes);
  check_list("learning_rates", settings.learning_rates);
  const auto place = [](size_t text) { return fmt::format("text-{}", text + 1); };
  std::vector<Halves> texts;  // read before any training: one may be missing
  for (size_t i = 0; i < settings.texts.size(); ++i)
    texts.push_back(halves_of(prepare_study_corpus(data_of(settings.texts[i], settings.data),
                                                   context, place(i) + "/corpus"),
                              settings.window));
  for (size_t i = 0; i < texts.size(); ++i)
    for (int64_t channels : settings.sizes)
      check_networks(sized_networks(settings, settings.texts[i], channels), budget_networks(),
                     texts[i].choosing);
  Tables tables;
  for (size_t i = 0; i < texts.size(); ++i)
    train_on(settings.texts[i], texts[i], place(i), settings, context, tables);
  StudyResults& results = context.results();
  results.add_table("losses", std::move(tables.losses));
  results.add_table("searches", std::move(tables.searches));
  results.add_difference(fmt::format(
      "The published ratio is that of 12 blocks of 768 channels after 80,000 steps of 512 windows "
      "of 512 tokens; here each network reads {} tokens.",
      settings.train.steps * settings.train.batch * settings.train.accumulation * settings.window));
  results.add_difference("The published ratio is that of BabiStories, cut into GPT-2's tokens.");
  results.add_difference(
      "Each network takes the best of the same learning rates; the paper tuned its GPT alone.");
}

}  // namespace tessera::memory_mosaics_study
