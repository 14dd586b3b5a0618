// How many bits a trained network stores: synthetic people that it has learned by heart.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "lab/study/benchmarks/studies.h"
#include "lab/task/people/people.h"
#include "tessera/base/consecutive.h"
#include "tessera/base/interrupt.h"
#include "tessera/model/language_model.h"
#include "tessera/plan/correlation_noise.h"
#include "tessera/report/bar_chart.h"

namespace tessera::benchmark_study {
namespace {

using config::Json;
using task::kPersonFacts;
using task::kPersonNames;

std::vector<Contestant> networks() {
  return {{"Memory Mosaic", {{"kind", "memory_mosaic"}}}, {"GPT", {{"kind", "gpt"}}}};
}

struct StoredBitsSettings : NetworkSizes {
  std::vector<std::string> models = {"Memory Mosaic", "GPT"};
  int64_t people = 10'000;
  std::vector<int64_t> exposures = {100};
  TrainConfig train;

  static inline const SettingNames kSetByStudy = {"train.seed", "train.steps"};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("models", models, "which are trained, by their names in the table of results");
    field("people", people, "how many people there are to learn", config::at_least(1));
    field("exposures", exposures, "how often each is read; every number is a training",
          config::at_least(1));
    NetworkSizes::visit_fields(field);
    field("train", train, "how every network is trained, but for the steps, which follow");
  }
};

/// The paper's: its smaller numbers of people, and a network that about fits them.
StoredBitsSettings stored_bits_settings(StudySize size) {
  StoredBitsSettings settings;
  settings.train = {.batch = 64,
                    .learning_rate = 5e-3,
                    .min_learning_rate = 0,
                    .warmup_steps = 200,
                    .weight_decay = 0.01,
                    .beta2 = 0.98,
                    .evaluate_every = 1000,
                    .evaluate_batches = 4,
                    .checkpoint_every = 1000};
  if (size == StudySize::kQuick) {
    settings.people = 500;
    settings.exposures = {50};
    settings.channels = 32;
    settings.train.warmup_steps = 20;
    settings.train.evaluate_every = 100;
  } else if (size == StudySize::kPaper) {
    settings.people = 50'000;
    settings.exposures = {100, 1000};
    settings.layers = 4;
    settings.channels = 192;
    settings.train.learning_rate = 1e-3;
    settings.train.warmup_steps = 1000;
  }
  return settings;
}

/// Bits of each fact by itself.
std::vector<double> entropies() {
  std::vector<double> bits;
  for (const auto& fact : kPersonFacts) bits.push_back(std::log2(fact.values));
  return bits;
}

/// The loss of each fact, in bits, over every person once.
std::vector<double> losses_of(LanguageModel& model, const task::People& people, int64_t count,
                              uint64_t seed) {
  constexpr int64_t kRows = 256;
  at::NoGradGuard no_grad;
  std::vector<double> sums(kPersonFacts.size(), 0);
  for (int64_t first = 0; first < count; first += kRows) {
    InterruptGuard::stop_if_interrupted("stopped while asking about all people");
    const auto samples = consecutive(std::min(kRows, count - first), first);
    const task::TaskBatch batch = task::make_batch(people, seed, samples);
    const at::Tensor hidden =
        model.forward(batch.inputs.t().contiguous()).transpose(0, 1);       // [T, B, C]
    const at::Tensor targets = batch.targets.masked_select(batch.answers);  // [n]
    const at::Tensor logits = model.logits(hidden.index({batch.answers})).to(at::kDouble);
    const at::Tensor losses =
        -logits.log_softmax(1).gather(1, targets.unsqueeze(1)).squeeze(1) / std::log(2.0);
    for (int64_t i = 0; i < targets.size(0); ++i)
      sums[task::People::fact_of(targets.data_ptr<int64_t>()[i])] += losses.data_ptr<double>()[i];
  }
  for (double& sum : sums) sum /= static_cast<double>(count);
  return sums;
}

double sum_of(const std::vector<double>& bits) {
  return std::accumulate(bits.begin(), bits.end(), 0.0);
}

/// A network after its training.
struct Learned {
  std::string name;
  int64_t exposures;
  int64_t parameters;
  int64_t state_bytes;  ///< per token
  double sequences_per_second;
  std::vector<double> bits;  ///< of the names together, then of each fact, per person

  double per_parameter(int64_t people) const {
    return sum_of(bits) * static_cast<double>(people) / static_cast<double>(parameters);
  }
};

/// Allen-Zhu & Li 2024, definition 3.1: what the losses leave of the bits that there were.
std::vector<double> learned_bits(const std::vector<double>& losses) {
  const std::vector<double> all = entropies();
  std::vector<double> bits = {0};
  for (size_t name = 0; name < kPersonNames; ++name) bits[0] += all[name] - losses[name];
  bits[0] = std::max(0.0, bits[0]);
  for (size_t fact = kPersonNames; fact < all.size(); ++fact)
    bits.push_back(std::max(0.0, all[fact] - losses[fact]));
  return bits;
}

/// All that can be learned, in the same order: who of the N people is meant cannot be known, so
/// that the loss of the names is log2 N at least.
std::vector<double> all_bits(int64_t people) {
  std::vector<double> losses(kPersonFacts.size(), 0);
  losses[0] = std::log2(people);
  return learned_bits(losses);
}

Learned learn(const StudyContext& context, const StoredBitsSettings& settings,
              const Contestant& network, int64_t exposures) {
  task::TaskTrainingConfig config;
  config.task = {{"name", "people"}, {"people", settings.people}};
  config.model = settings.sized(network.model, /*window=*/64);
  config.train = settings.train;
  const int64_t sequences_of_update = settings.train.batch * settings.train.accumulation;
  config.train.steps = std::max<int64_t>(1, exposures * settings.people / sequences_of_update);
  config.train.warmup_steps = std::min(config.train.warmup_steps, config.train.steps - 1);
  config.train.seed = context.seed();
  config.data.test_samples = std::min<int64_t>(settings.people, 1280);
  const Contestant contestant{
      .name = network.name,
      .folder = fmt::format("{}-{}-exposures", folder_name(network.name), exposures)};
  if (context.progress()) fmt::print(context.progress(), "{}\n", contestant.folder);
  const auto [learner, result] =
      train_alone(context, std::make_shared<task::TaskLearner>(config), contestant);
  const auto losses =
      losses_of(dynamic_cast<LanguageModel&>(learner->model()),
                task::People({.people = settings.people}), settings.people, context.seed());
  return {network.name,
          exposures,
          learner->parameter_count(),
          state_bytes_per_token(learner->model(), 32),
          result.units_per_second,
          learned_bits(losses)};
}

/// Bits per number of a correlation memory of as many numbers, which stores keys of people's facts
/// with one of 200 values each and reads 99 of 100 right.
double correlation_bits(int64_t numbers) {
  constexpr int64_t kValues = 200;
  const int64_t width = std::llround(std::sqrt(static_cast<double>(numbers)));
  const double pairs =
      theory::correlation_capacity({.rows = width, .columns = width, .vocabulary = kValues}, 0.99);
  return pairs * std::log2(kValues) / static_cast<double>(width * width);
}

std::vector<std::string> bit_names() {
  std::vector<std::string> names = {"names"};
  for (size_t fact = kPersonNames; fact < kPersonFacts.size(); ++fact)
    names.emplace_back(kPersonFacts[fact].name);
  return names;
}

/// What each network has learned, and what there is to learn.
Table bits_table(const std::vector<Learned>& all, int64_t people) {
  std::vector<std::string> columns = {"network", "exposures", "parameters", "state (bytes a token)",
                                      "training sequences/s"};
  for (const auto& name : bit_names()) columns.push_back(name);
  columns.insert(columns.end(), {"bits per person", "bits per parameter"});
  Table table("Bits that were learned of a person", columns);
  const auto add = [&](std::vector<Cell> row, const std::vector<double>& bits, Cell per_parameter) {
    for (const double one : bits) row.push_back(Cell::fixed(one, 2));
    row.push_back(Cell::fixed(sum_of(bits), 1));
    row.push_back(std::move(per_parameter));
    table.add_row(std::move(row));
  };
  for (const Learned& learned : all)
    add({learned.name, learned.exposures, learned.parameters, learned.state_bytes,
         Cell::fixed(learned.sequences_per_second, 0)},
        learned.bits, Cell::fixed(learned.per_parameter(people), 3));
  add({"all there is", Cell(), Cell(), Cell(), Cell()}, all_bits(people), Cell());
  return table;
}

void add_bits(const std::vector<Learned>& all, int64_t people, StudyResults& results) {
  const auto most = all_bits(people);
  auto bars =
      std::make_unique<BarChart>("Share of what there is to know", bit_names(), "", "learned (%)");
  std::vector<std::string> shares;
  for (const Learned& learned : all) {
    const std::string name = fmt::format("{}, {} exposures", learned.name, learned.exposures);
    std::vector<double> heights;
    for (size_t i = 0; i < most.size(); ++i) heights.push_back(100 * learned.bits[i] / most[i]);
    bars->add(name, std::move(heights));
    const double per_parameter = learned.per_parameter(people);
    results.add_point(
        {.series = learned.name, .x = static_cast<double>(learned.exposures), .y = per_parameter});
    if (learned.exposures == 100 || learned.exposures == 1000)
      results.compare({.what = name + ", bits per parameter",
                       .published = learned.exposures == 100 ? 1.0 : 2.0,
                       .ours = per_parameter,
                       .digits = 3,
                       .unlike = "other sizes"});
    shares.push_back(fmt::format("{} {:.2f}", name, per_parameter));
  }
  results.conclude(fmt::format(
      "Bits per parameter: {}. A correlation memory of as many numbers as the {} has, planned for "
      "99 of 100 right, holds {:.2f} per number.",
      fmt::join(shares, "; "), all.front().name, correlation_bits(all.front().parameters)));
  results.add_chart("learned", std::move(bars),
                    "What the loss says of each fact, in percent of the bits that it has.");
  results.add_table("bits", bits_table(all, people));
}

}  // namespace

void stored_bits(StudyContext& context) {
  const StoredBitsSettings settings = context.settings(stored_bits_settings, kNoSetting);
  const auto chosen = chosen_by_name(networks(), settings.models);
  check_list("exposures", settings.exposures);
  std::vector<Learned> all;
  for (const Contestant& network : chosen)
    for (const int64_t exposures : settings.exposures)
      all.push_back(learn(context, settings, network, exposures));
  StudyResults& results = context.results();
  add_bits(all, settings.people, results);
  results.add_difference(fmt::format(
      "{} people and {} blocks of {} channels, a token for each name and value; the paper has "
      "10,000 to 10 million people, GPT-2's tokens, and networks of 1 to 500 million parameters. "
      "About one bit per parameter after 100 exposures, two after 1000, is its result over all of "
      "them.",
      settings.people, settings.layers, settings.channels));
  results.add_difference(
      "Only names and values are trained on: the other words of a sentence tell nothing.");
}

}  // namespace tessera::benchmark_study
