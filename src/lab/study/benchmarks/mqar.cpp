// Multi-query associative recall: right answers against the size of the state.

#include "lab/task/mqar/mqar.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "lab/study/benchmarks/studies.h"
#include "tessera/base/error.h"
#include "tessera/plan/correlation_noise.h"
#include "tessera/report/line_chart.h"

namespace tessera::benchmark_study {
namespace {

using config::Json;

/// Who takes part: a line each. The sizes are the settings'.
std::vector<Contestant> entries() {
  return {{"Memory Mosaic", {{"kind", "memory_mosaic"}}},
          {"Memory Mosaic v2", {{"kind", "memory_mosaic_v2"}}},
          {"GPT", {{"kind", "gpt"}}},
          {"RetNet", {{"kind", "retnet"}}},
          {"Gated DeltaNet", {{"kind", "gated_deltanet"}}},
          {"LSTM", {{"kind", "lstm"}}},
          {"STM",
           {{"kind", "stm"},
            {"slots", 1},  // as the paper has it for associative retrieval
            {"alpha1", {{"value", 0.9}}},
            {"alpha2", {{"value", 0.5}}},
            {"alpha3", {{"value", 0.5}}}}}};
}

bool has_blocks(const Contestant& entry) {
  return entry.model.at("kind") != "stm";
}

struct MqarSettings {
  std::vector<std::string> models;
  std::vector<int64_t> lengths = {64};
  std::vector<int64_t> pairs = {4};
  int64_t vocabulary = 8192;
  int64_t overwritten = 0;
  bool compound = false;
  task::MqarFiller filler = task::MqarFiller::kRandom;
  std::vector<int64_t> blocks = {1, 2};
  std::vector<int64_t> channels;
  int64_t heads = 1;
  std::vector<double> learning_rates;
  double solved = 0.99;
  task::SampleSets data;
  TrainConfig train;

  static inline const SettingNames kSetByStudy = {"train.seed", "train.learning_rate"};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("models", models, "which are trained, by their names in the table of results");
    field("lengths", lengths, "tokens of a sequence; every model is trained on each length alone");
    field("pairs", pairs, "pairs of a key and a value, one number for each length");
    field("vocabulary", vocabulary, "tokens: the first half are keys, the others values");
    field("overwritten", overwritten, "keys that come again with another value, which then counts");
    field("compound", compound, "keys of two tokens, of which neither alone tells the value");
    field("filler", filler, "tokens between the questions: random ones, or always token 0");
    field("blocks", blocks, "depths of the networks; an STM has none");
    field("channels", channels, "widths of the networks, which set the size of their states");
    field("heads", heads, "memories per unit, attention or retention heads");
    field("learning_rates", learning_rates,
          "rates that are tried in this order, each with train.min_learning_rate in proportion; "
          "the best counts",
          config::above(0));
    field("solved", solved, "share of right validation answers after which no other rate is tried");
    field("data", data, "how many sequences there are");
    field("train", train, "how every model is trained; the lowest rate follows the rate");
  }
};

/// One length with its pairs.
struct Rung {
  int64_t length, pairs;

  std::string text() const { return fmt::format("{} tokens, {} pairs", length, pairs); }
};

std::vector<Rung> rungs_of(const MqarSettings& settings) {
  if (settings.lengths.size() != settings.pairs.size())
    throw UsageError("lengths are {}, pairs {}; expected as many of one as of the other",
                     settings.lengths.size(), settings.pairs.size());
  std::vector<Rung> rungs;
  std::vector<std::string> texts;
  for (size_t i = 0; i < settings.lengths.size(); ++i) {
    rungs.push_back({settings.lengths[i], settings.pairs[i]});
    texts.push_back(rungs.back().text());
  }
  check_list("lengths", texts);
  return rungs;
}

/// A network that is trained on one rung.
struct Trial {
  Contestant entry;
  Rung rung;
  int64_t blocks, channels;

  /// "GPT, 2 blocks".
  std::string name() const {
    return has_blocks(entry) ? fmt::format("{}, {}", entry.name, depth_text(blocks)) : entry.name;
  }
  std::string folder() const {
    return fmt::format("{}/{}/{}-blocks-{}-wide", folder_name(rung.text()), folder_name(entry.name),
                       blocks, channels);
  }
};

/// What came of it.
struct Outcome {
  Trial trial;
  int64_t state_bytes = 0;
  BestRate best;

  double accuracy() const { return best.training.trained.test.at("accuracy"); }
  double validation_accuracy() const { return best.training.trained.validation.at("accuracy"); }
};

/// The paper's. By default: the smallest size, in few updates at higher rates, without the STM;
/// with one head a transformer stayed at a value of the context for as long. Quick: shorter
/// sequences of few tokens, narrow networks, and one rate.
MqarSettings mqar_settings(StudySize size) {
  MqarSettings settings;
  for (const Contestant& entry : entries()) settings.models.push_back(entry.name);
  settings.lengths = {64, 128, 256, 512};
  settings.pairs = {4, 8, 16, 64};
  settings.filler = task::MqarFiller::kZero;
  settings.blocks = {2};
  settings.channels = {64, 128, 256, 512};
  settings.learning_rates = {1e-2, 2.2e-3, 4.6e-4, 1e-4};
  settings.data = {.training_samples = 100'000, .test_samples = 3000};
  settings.train = {.steps = 25'000,  // 64 epochs
                    .batch = 256,
                    .learning_rate = 1e-2,
                    .min_learning_rate = 0,
                    .warmup_steps = 2500,
                    .beta2 = 0.999,
                    .evaluate_every = 390,
                    .checkpoint_every = 390};
  if (size == StudySize::kPaper) return settings;
  std::erase(settings.models, "STM");  // a ninth of a Memory Mosaic's speed
  settings.lengths = {64};
  settings.pairs = {4};
  settings.filler = task::MqarFiller::kRandom;
  settings.blocks = {1, 2};
  settings.channels = {64};
  settings.heads = 4;
  settings.learning_rates = {5e-3, 1e-2, 2.2e-3};
  settings.data = {.test_samples = 1000};
  settings.train = {.steps = 1500,
                    .batch = 64,
                    .learning_rate = 5e-3,
                    .min_learning_rate = 5e-4,
                    .warmup_steps = 50,
                    .weight_decay = 0,
                    .beta2 = 0.98,
                    .evaluate_every = 50,
                    .evaluate_batches = 4,
                    .stop_loss = 0.03,
                    .checkpoint_every = 500};
  if (size == StudySize::kDefault) return settings;
  settings.lengths = {32};
  settings.vocabulary = 64;
  settings.channels = {32};
  settings.learning_rates = {1e-2};
  settings.train.steps = 400;
  return settings;
}

task::MqarConfig task_of(const MqarSettings& settings, const Rung& rung) {
  return {.length = rung.length,
          .pairs = rung.pairs,
          .vocabulary = settings.vocabulary,
          .overwritten = settings.overwritten,
          .compound = settings.compound,
          .filler = settings.filler};
}

Json sized_model(const MqarSettings& settings, const Trial& trial) {
  Json model = trial.entry.model;
  if (has_blocks(trial.entry))
    return NetworkSizes{trial.blocks, trial.channels, settings.heads}.sized(model,
                                                                            trial.rung.length);
  for (const char* field : {"inputs", "width", "distilled"}) model[field] = trial.channels;
  return model;
}

task::TaskTrainingConfig training_of(const StudyContext& context, const MqarSettings& settings,
                                     const Trial& trial) {
  task::TaskTrainingConfig config;
  config.task = config::to_json(task_of(settings, trial.rung));
  config.task["name"] = "mqar";
  config.model = sized_model(settings, trial);
  config.data = settings.data;
  config.train = settings.train;
  config.train.seed = context.seed();
  return config;
}

/// All that is trained. Throws UsageError on settings that make no sense, before any training.
std::vector<Trial> trials_of(const StudyContext& context, const MqarSettings& settings) {
  const std::vector<Contestant> models = chosen_by_name(entries(), settings.models);
  check_list("blocks", settings.blocks);
  check_list("channels", settings.channels);
  check_list("learning_rates", settings.learning_rates);
  std::vector<Trial> trials;
  for (const Rung& rung : rungs_of(settings))
    for (const Contestant& model : models)
      for (const int64_t blocks : has_blocks(model) ? settings.blocks : std::vector<int64_t>{1})
        for (const int64_t channels : settings.channels)
          trials.push_back({model, rung, blocks, channels});
  for (const Trial& trial : trials) training_of(context, settings, trial).check();
  return trials;
}

/// With its best rate.
Outcome outcome_of(const StudyContext& context, const MqarSettings& settings, const Trial& trial) {
  BestRate best =
      train_at_best_rate(context, training_of(context, settings, trial), settings.learning_rates,
                         settings.solved, trial.name(), trial.folder());
  const int64_t bytes = state_bytes_after(best.training.learner->model(), trial.rung.length);
  return {trial, bytes, std::move(best)};
}

Table outcome_table(const std::vector<Outcome>& outcomes) {
  Table table("Every network with the best of the learning rates that were tried",
              {"tokens", "pairs", "model", "channels", "parameters", "state (bytes)",
               "right answers (%)", "training tokens/s", "updates", "rate", "rates tried"});
  for (const Outcome& outcome : outcomes) {
    const auto& [learner, trained] = outcome.best.training;
    table.add_row(
        {outcome.trial.rung.length, outcome.trial.rung.pairs, outcome.trial.name(),
         outcome.trial.channels, learner->parameter_count(), outcome.state_bytes,
         Cell::fixed(100 * outcome.accuracy(), 2),
         Cell::fixed(trained.units_per_second * static_cast<double>(outcome.trial.rung.length), 0),
         trained.steps, fmt::format("{:g}", outcome.best.rate), outcome.best.tried});
  }
  return table;
}

/// What the theory of capacity expects (as `tessera plan` does): right answers (%) of one square
/// correlation matrix of float32 numbers that holds the pairs of a sequence under random keys, from
/// an eighth of the smallest state, where it falls off, to the largest.
std::vector<ChartPoint> planned_curve(double smallest, double largest, const Rung& rung,
                                      int64_t values) {
  const auto width_of = [](double bytes) { return std::sqrt(bytes / sizeof(float)); };
  std::vector<ChartPoint> points;
  int64_t width = 0;
  for (double next = width_of(smallest / 8); next <= width_of(largest); next *= 1.1) {
    if (std::exchange(width, std::llround(next)) == std::llround(next)) continue;
    const double recall = theory::correlation_recall(
        {.rows = width, .columns = width, .vocabulary = values}, static_cast<double>(rung.pairs));
    points.push_back({static_cast<double>(width * width) * sizeof(float), 100 * recall});
  }
  return points;
}

/// Right answers against the size of the state on one rung.
void add_rung(const std::vector<Outcome>& outcomes, const MqarSettings& settings, const Rung& rung,
              StudyResults& results) {
  std::vector<ShownSeries> series;
  std::vector<const Outcome*> best;  // of each series, in validation
  double smallest = INFINITY, largest = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.trial.rung.length != rung.length || outcome.trial.rung.pairs != rung.pairs)
      continue;
    const double bytes = outcome.state_bytes;
    smallest = std::min(smallest, bytes);
    largest = std::max(largest, bytes);
    const std::string name = fmt::format("{}, {}", outcome.trial.name(), rung.text());
    results.add_point({.series = name, .x = bytes, .y = 100 * outcome.accuracy()});
    if (series.empty() || series.back().shown != outcome.trial.name()) {
      series.push_back({name, outcome.trial.name()});
      best.push_back(&outcome);
    }
    if (outcome.validation_accuracy() > best.back()->validation_accuracy()) best.back() = &outcome;
  }
  std::vector<std::string> scores;
  for (const Outcome* outcome : best)
    scores.push_back(fmt::format("{} {:.1f}", outcome->trial.name(), 100 * outcome->accuracy()));
  results.conclude(fmt::format("{}, right answers (%) of the best width: {}.", rung.text(),
                               fmt::join(scores, "; ")));
  auto chart =
      results.panel_of_points(rung.text(), Axis{"state (bytes)", Scale::kLog},
                              Axis{"right answers (%)", Scale::kLinear, 0.0, 100.0}, series);
  const double context = 100.0 / static_cast<double>(rung.pairs + settings.overwritten);
  chart->add({"any value of the context",
              {{smallest, context}, {largest, context}},
              SeriesStyle::kReference});
  std::string caption =
      "Bytes of the numbers that a network keeps of one sequence, measured on its state after "
      "these tokens. Dashed: who knows which values came, and not with which key.";
  if (settings.overwritten == 0) {  // a sum of pairs cannot tell a key's later value
    chart->add(
        {"planned: one correlation matrix",
         planned_curve(smallest, largest, rung, settings.vocabulary / (settings.compound ? 3 : 2)),
         SeriesStyle::kReference});
    caption +=
        " Dotted: what the theory of capacity expects of one correlation matrix of this size that "
        "is given each key with its value.";
  }
  results.add_chart(folder_name(rung.text()), std::move(chart), caption);
}

void add_mqar_differences(const MqarSettings& settings, StudyResults& results) {
  const MqarSettings paper = mqar_settings(StudySize::kPaper);
  results.add_difference(
      "A block is a memory and a feed-forward layer (in a Memory Mosaic, a persistent memory); the "
      "paper's blocks have none.");
  if (settings.filler != paper.filler)
    results.add_difference("Random tokens stand between the questions; in the paper token 0 does.");
  if (settings.vocabulary != paper.vocabulary || settings.lengths != paper.lengths ||
      settings.channels != paper.channels)
    results.add_difference(fmt::format(
        "A vocabulary of {}, sequences of {} with {} pairs, {} channels; the paper has 8192, "
        "sequences of 64, 128, 256, 512 with 4, 8, 16, 64 pairs, 64 to 512 channels.",
        settings.vocabulary, fmt::join(settings.lengths, ", "), fmt::join(settings.pairs, ", "),
        fmt::join(settings.channels, ", ")));
  if (settings.train.steps != paper.train.steps)
    results.add_difference(fmt::format(
        "At most {} updates of {} sequences that come once each, ended where the task is solved; "
        "the paper reads 100,000 sequences at most 64 times.",
        settings.train.steps, settings.train.batch * settings.train.accumulation));
  results.add_difference(fmt::format(
      "Heads: {}; weight decay: {:g}; no dropout; {} sequences an update, whatever their length. "
      "The paper's code has 1 head, weight decay 0.1, dropout of 0.1 on embeddings and attention "
      "weights, and 512, 512, 256, 128 sequences of 64, 128, 256, 512 tokens.",
      settings.heads, settings.train.weight_decay,
      settings.train.batch * settings.train.accumulation));
  results.add_difference(
      "The paper draws its results as curves, so there are no numbers of it to compare with.");
}

}  // namespace

void mqar(StudyContext& context) {
  const MqarSettings settings = context.settings(mqar_settings, kNoSetting);
  std::vector<Outcome> outcomes;
  for (const Trial& trial : trials_of(context, settings))
    outcomes.push_back(outcome_of(context, settings, trial));
  for (const Rung& rung : rungs_of(settings)) add_rung(outcomes, settings, rung, context.results());
  context.results().add_table("networks", outcome_table(outcomes));
  add_mqar_differences(settings, context.results());
}

}  // namespace tessera::benchmark_study
