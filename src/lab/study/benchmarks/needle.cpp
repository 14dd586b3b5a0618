// Needles in stories: numbers that a network read far back, past the window it was trained on.

#include "lab/task/needle/needle.h"

#include <ATen/Functions.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/study/benchmarks/studies.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/interrupt.h"
#include "tessera/model/language_model.h"
#include "tessera/report/heat_map.h"
#include "tessera/report/panels.h"

namespace tessera::benchmark_study {
namespace {

using config::Json;
using task::NeedleConfig;
using task::NeedleKind;

/// A trained network, and how many pairs its memories keep when it is asked.
struct Reader {
  std::string name;
  Json model;
  MemoryBound bound = {};  ///< pairs: 0 keeps all; else it is the window
};

/// Those that are trained, each followed by itself with bounded memories.
std::vector<Reader> readers() {
  const Json mosaic = {{"kind", "memory_mosaic"}};
  return {{"Memory Mosaic", mosaic},
          {"Memory Mosaic, oldest pairs dropped", mosaic, {1, Eviction::kOldest}},
          {"Memory Mosaic, least used pairs dropped", mosaic, {1, Eviction::kLeastUsed}},
          {"Memory Mosaic v2", {{"kind", "memory_mosaic_v2"}}},
          {"GPT, rotary positions", {{"kind", "gpt"}, {"positions", "rotary"}}},
          {"GPT, ALiBi", {{"kind", "gpt"}, {"positions", "alibi"}}}};
}

struct NeedleSettings : NetworkSizes {
  std::vector<std::string> models;
  int64_t window = 128;
  std::vector<int64_t> windows = {1, 2, 4, 8, 16};
  int64_t needles = 4;
  int64_t test_samples = 100;
  int64_t depths = 11;
  int64_t depth_samples = 20;
  std::vector<double> learning_rates = {5e-3, 2e-3};
  double solved = 0.98;
  TrainConfig train;

  static inline const SettingNames kSetByStudy = {"train.seed", "train.learning_rate"};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("models", models, "which are asked, by their names in the table of results");
    field("window", window, "tokens of a sequence in training");
    field("windows", windows, "how many windows the texts that are asked are long");
    field("needles", needles, "numbers that a text hides where it hides several");
    NetworkSizes::visit_fields(field);
    field("test_samples", test_samples, "texts of each length and kind", config::at_least(1));
    field("depths", depths, "places of the needle in the pictures, from the first to the last",
          config::at_least(1));
    field("depth_samples", depth_samples, "texts of each length and place", config::at_least(1));
    field("learning_rates", learning_rates,
          "rates that are tried in this order, each with train.min_learning_rate in proportion; "
          "the best counts",
          config::above(0));
    field("solved", solved, "share of right validation digits after which no other rate is tried");
    field("train", train, "how every network is trained");
  }

  NeedleConfig task(NeedleKind kind, int64_t times) const {
    return {.kind = kind, .length = window * times, .needles = needles};
  }
  /// Percent of the story before the needle, at the place of this number.
  int64_t percent_at(int64_t depth) const { return depths > 1 ? 100 * depth / (depths - 1) : 50; }
};

NeedleSettings needle_settings(StudySize size) {
  NeedleSettings settings;
  for (const Reader& reader : readers()) settings.models.push_back(reader.name);
  settings.train = {.steps = 1500,
                    .batch = 32,
                    .learning_rate = 5e-3,
                    .min_learning_rate = 5e-4,
                    .warmup_steps = 50,
                    .weight_decay = 0,
                    .beta2 = 0.98,
                    .evaluate_every = 100,
                    .evaluate_batches = 8,
                    .stop_loss = 0.02,
                    .checkpoint_every = 500};
  if (size != StudySize::kQuick) return settings;
  settings.models = {"Memory Mosaic", "GPT, ALiBi"};
  settings.window = 96;
  settings.windows = {1, 2, 4};
  settings.channels = 32;
  settings.learning_rates = {1e-2};
  settings.train.learning_rate = 1e-2;
  settings.train.steps = 300;
  settings.test_samples = 50;
  settings.depths = 3;
  settings.depth_samples = 10;
  return settings;
}

constexpr std::array kKinds = {NeedleKind::kOne, NeedleKind::kSeveral, NeedleKind::kOneName,
                               NeedleKind::kReplaced};

/// What a kind is called in tables.
std::string shown(NeedleKind kind) {
  switch (kind) {
    case NeedleKind::kOne:
      return "one number";
    case NeedleKind::kSeveral:
      return "one of several";
    case NeedleKind::kOneName:
      return "all of one name";
    default:
      return "the later of two";
  }
}

/// Percentage of texts whose whole answer is right, each digit being the most probable one. Reading
/// from the start with memories of this bound.
double percent_found(LanguageModel& model, const NeedleConfig& config, MemoryBound bound,
                     uint64_t seed, int64_t texts) {
  constexpr int64_t kTokensTogether = 8192;
  const task::Needle needle(config);
  const int64_t rows = std::clamp<int64_t>(kTokensTogether / config.length, 1, texts);
  task::TaskScore score;
  for (int64_t first = 0; first < texts; first += rows) {
    InterruptGuard::stop_if_interrupted("stopped while asking");
    const auto samples = consecutive(std::min(rows, texts - first), first);
    const task::TaskBatch batch = task::make_batch(needle, seed, samples, task::BatchSizes::kOwn);
    const at::Tensor hidden =
        model  // [B, T - first_answer, C]
            .read(batch.inputs.t().contiguous(), model.bounded_state(bound), batch.first_answer)
            .outputs;
    score += task::score_answers(model.logits(hidden).transpose(0, 1), batch);
  }
  return 100 * score.perfect_share();
}

/// A network after its training, under the name of the first reader that it is.
struct TrainedNetwork {
  std::string name;
  Json model;
  BestRate best;
};

/// One reader and what it found: of each kind and length, and of one number at each depth.
struct Found {
  std::string name;
  std::vector<std::vector<double>> by_kind;   ///< [kinds][lengths]
  std::vector<std::vector<double>> by_depth;  ///< [depths][lengths]
};

task::TaskTrainingConfig training_of(const StudyContext& context, const NeedleSettings& settings,
                                     const Json& model) {
  task::TaskTrainingConfig config;
  config.task = {{"name", "needle"}, {"length", settings.window}, {"needles", settings.needles}};
  config.model = settings.sized(model, settings.window);
  config.data.test_samples = settings.test_samples;
  config.train = settings.train;
  config.train.seed = context.seed();
  return config;
}

Found ask(const StudyContext& context, const NeedleSettings& settings, const Reader& reader,
          const BestRate& best) {
  auto& model = dynamic_cast<LanguageModel&>(best.training.learner->model());
  const uint64_t seed = task::split_seed(context.seed(), task::Split::kTest);
  const MemoryBound bound{reader.bound.pairs > 0 ? settings.window : 0, reader.bound.eviction};
  Found found{reader.name, {}, {}};
  for (const NeedleKind kind : kKinds) {
    auto& row = found.by_kind.emplace_back();
    for (const int64_t times : settings.windows)
      row.push_back(
          percent_found(model, settings.task(kind, times), bound, seed, settings.test_samples));
  }
  for (int64_t depth = 0; depth < settings.depths; ++depth) {
    auto& row = found.by_depth.emplace_back();
    for (const int64_t times : settings.windows) {
      NeedleConfig config = settings.task(NeedleKind::kOne, times);
      config.depth = settings.percent_at(depth);
      row.push_back(percent_found(model, config, bound, seed, settings.depth_samples));
    }
  }
  return found;
}

std::vector<std::string> lengths_of(const NeedleSettings& settings) {
  std::vector<std::string> lengths;
  for (const int64_t times : settings.windows)
    lengths.push_back(fmt::format("{} tokens", times * settings.window));
  return lengths;
}

void add_lengths(const std::vector<Found>& all, const NeedleSettings& settings,
                 StudyResults& results) {
  std::vector<std::string> columns = {"network", "asked"};
  for (const auto& length : lengths_of(settings)) columns.push_back(length);
  Table table("Texts whose question was answered without a mistake (%)", columns);
  auto panels = std::make_unique<Panels>("Right answers by the length of the text");
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    std::vector<ShownSeries> series;
    for (const Found& found : all) {
      series.push_back({fmt::format("{}, {}", found.name, shown(kKinds[kind])), found.name});
      std::vector<Cell> row = {found.name, shown(kKinds[kind])};
      for (size_t i = 0; i < settings.windows.size(); ++i) {
        const double percent = found.by_kind[kind][i];
        row.push_back(Cell::fixed(percent, 1));
        results.add_point({.series = series.back().series,
                           .x = static_cast<double>(settings.windows[i] * settings.window),
                           .y = percent});
      }
      table.add_row(std::move(row));
    }
    panels->add(results.panel_of_points(
        shown(kKinds[kind]), Axis{"length of the text (tokens)", Scale::kLog},
        Axis{"right answers (%)", Scale::kLinear, 0.0, 100.0}, series));
  }
  results.add_chart("lengths", std::move(panels),
                    fmt::format("Networks that were trained on texts of {} tokens and read longer "
                                "ones. An answer is right if all its digits are.",
                                settings.window));
  results.add_table("answers", std::move(table));
}

void add_depths(const std::vector<Found>& all, const NeedleSettings& settings,
                StudyResults& results) {
  std::vector<std::string> depths;
  for (int64_t depth = 0; depth < settings.depths; ++depth)
    depths.push_back(fmt::format("{} %", settings.percent_at(depth)));
  auto panels = std::make_unique<Panels>("Right answers by the place of the number");
  for (const Found& found : all) {
    auto map = std::make_unique<HeatMap>(found.name, depths, lengths_of(settings),
                                         Axis{"share of right answers", Scale::kLinear, 0.0, 1.0});
    map->name_axes("the story before it", "length of the text");
    std::vector<double> values;
    for (const auto& row : found.by_depth)
      for (const double percent : row) values.push_back(percent / 100);
    map->set_values(std::move(values));
    panels->add(std::move(map));
  }
  results.add_chart("depths", std::move(panels),
                    "One number, behind more and more of the story: far back at the top, just "
                    "before the question at the bottom.");
}

Table network_table(const std::vector<TrainedNetwork>& networks, int64_t window) {
  Table table(
      "The networks, each with the best of the learning rates that were tried. ALiBi's state has "
      "two numbers a head more than it needs, the position and a 0",
      {"network", "parameters", "state (bytes a token)", "right digits in training's window (%)",
       "updates", "training tokens/s", "rate", "rates tried"});
  for (const auto& [name, model, best] : networks) {
    const auto& [learner, trained] = best.training;
    table.add_row({name, learner->parameter_count(),
                   state_bytes_per_token(learner->model(), window),
                   Cell::fixed(100 * trained.test.at("accuracy"), 2), trained.steps,
                   Cell::fixed(trained.units_per_second * static_cast<double>(window), 0),
                   fmt::format("{:g}", best.rate), best.tried});
  }
  return table;
}

void conclude(const std::vector<Found>& all, const NeedleSettings& settings,
              StudyResults& results) {
  std::vector<std::string> shares;
  for (const Found& found : all)
    shares.push_back(fmt::format("{} {:.0f} ({:.0f})", found.name, found.by_kind.front().back(),
                                 found.by_kind.front().front()));
  results.conclude(fmt::format(
      "One number in a text of {} tokens (in brackets: of {}; training had {}), right answers (%): "
      "{}.",
      settings.windows.back() * settings.window, settings.windows.front() * settings.window,
      settings.window, fmt::join(shares, "; ")));
}

void add_needle_differences(const NeedleSettings& settings, StudyResults& results) {
  results.add_difference(fmt::format(
      "A small analogue: {} blocks of {} channels that learn this task alone, on texts of {} "
      "tokens of generated stories. RULER (Hsieh et al. 2024) asks large language models in 4,096 "
      "to 131,072 tokens of essays; Zhang & Bottou 2025 give 53.4 for a Memory Mosaic v2 and 41.1 "
      "for a transformer on questions about documents of 32,768 tokens, when both were trained on "
      "4,096.",
      settings.layers, settings.channels, settings.window));
}

}  // namespace

void needle(StudyContext& context) {
  const NeedleSettings settings = context.settings(needle_settings, kNoSetting);
  const std::vector<Reader> chosen = chosen_by_name(readers(), settings.models);
  check_list("windows", settings.windows);
  check_list("learning_rates", settings.learning_rates);
  for (const int64_t times : settings.windows)
    for (const NeedleKind kind : kKinds) task::Needle(settings.task(kind, times));
  for (const Reader& reader : chosen) training_of(context, settings, reader.model).check();
  std::vector<TrainedNetwork> networks;
  std::vector<Found> all;
  for (const Reader& reader : chosen) {
    auto known = std::ranges::find(networks, reader.model, &TrainedNetwork::model);
    if (known == networks.end()) {
      networks.push_back({reader.name, reader.model,
                          train_at_best_rate(context, training_of(context, settings, reader.model),
                                             settings.learning_rates, settings.solved, reader.name,
                                             folder_name(reader.name))});
      known = networks.end() - 1;
    }
    all.push_back(ask(context, settings, reader, known->best));
  }
  StudyResults& results = context.results();
  conclude(all, settings, results);
  add_lengths(all, settings, results);
  add_depths(all, settings, results);
  results.add_table("networks", network_table(networks, settings.window));
  add_needle_differences(settings, results);
}

}  // namespace tessera::benchmark_study
