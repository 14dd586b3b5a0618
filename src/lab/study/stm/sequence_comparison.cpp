#include "lab/study/stm/sequence_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/train/training_report.h"

namespace tessera::stm_study {

TrainConfig short_training(int64_t steps, int64_t batch) {
  return {.steps = steps,
          .batch = batch,
          .learning_rate = 1e-3,
          .min_learning_rate = 1e-3,
          .warmup_steps = 0,
          .weight_decay = 0,
          .beta2 = 0.999,
          .clip = 1,
          .evaluate_every = 100,
          .evaluate_batches = 10,
          .checkpoint_every = 100,
          .seed = 1};
}

TrainConfig falling_training(int64_t steps, double learning_rate, int64_t warmup, int64_t batch) {
  TrainConfig train = short_training(steps, batch);
  train.learning_rate = learning_rate;
  train.min_learning_rate = learning_rate / 100;
  train.warmup_steps = warmup;
  return train;
}

void set_batch(int64_t batch, TrainConfig& train, task::SampleSets& data) {
  const auto rescale = [](int64_t& count, int64_t before, int64_t after) {
    if (count == 0) return;
    const double ratio = static_cast<double>(before) / static_cast<double>(after);
    count = static_cast<int64_t>(std::clamp(ratio * static_cast<double>(count), 1.0, 0x1p62));
  };
  for (int64_t* updates : {&train.steps, &train.warmup_steps, &train.decay_steps,
                           &train.evaluate_every, &train.checkpoint_every, &data.growing_steps})
    rescale(*updates, train.batch * train.accumulation, batch);
  rescale(train.evaluate_batches, train.batch, batch);
  train.batch = batch;
  train.accumulation = 1;
}

StmConfig short_training_stm(int64_t slots, int64_t width, const std::array<double, 3>& alpha) {
  StmConfig config;
  config.slots = slots;
  config.width = config.distilled = width;
  config.alpha1.value = alpha[0];
  config.alpha2.value = alpha[1];
  config.alpha3.value = alpha[2];
  return config;
}

Baselines short_training_baselines() {
  Baselines baselines;
  baselines.lstm.hidden = 128;
  baselines.attentional_lstm.hidden = 100;
  baselines.fast_weights.hidden = 200;
  baselines.rmc = {.slots = 4, .heads = 4, .head_width = 16};
  baselines.ntm = {.controller = 96, .slots = 32, .width = 16};
  baselines.dnc = {.controller = 96, .slots = 16, .width = 16, .read_heads = 2};
  return baselines;
}

Baselines wider_baselines() {
  Baselines baselines = short_training_baselines();
  baselines.lstm.hidden = 288;
  baselines.attentional_lstm.hidden = 220;
  baselines.fast_weights.hidden = 450;
  baselines.rmc.head_width = 48;
  baselines.ntm.controller = 270;
  baselines.dnc.controller = 262;
  return baselines;
}

std::vector<Contestant> beside_baselines(const Baselines& baselines,
                                         const std::vector<Contestant>& ours,
                                         const std::map<std::string, double>& published,
                                         int64_t embedding) {
  std::vector<Contestant> all = {
      {"LSTM", model_table<VectorLstm>(baselines.lstm, embedding)},
      {"ALSTM", model_table<AttentionalLstm>(baselines.attentional_lstm, embedding)},
      {"Fast weights", model_table<FastWeights>(baselines.fast_weights, embedding)},
      {"RMC", model_table<Rmc>(baselines.rmc, embedding)},
      {"NTM", model_table<Ntm>(baselines.ntm, embedding)},
      {"DNC", model_table<Dnc>(baselines.dnc, embedding)}};
  for (Contestant& contestant : all) {
    contestant.batch = baselines.batch;
    contestant.learning_rate = baselines.learning_rate;
  }
  all.insert(all.end(), ours.begin(), ours.end());
  for (Contestant& contestant : all)
    if (const auto found = published.find(contestant.name); found != published.end())
      contestant.published = found->second;
  return all;
}

std::vector<TrainedContestant<task::TaskLearner>> compare_on_task(
    StudyContext& context, const task::TaskTrainingConfig& common,
    const std::vector<Contestant>& contestants, int64_t runs) {
  const auto config_of = [&](const Contestant& contestant, uint64_t seed) {
    task::TaskTrainingConfig config = common;
    config.model = contestant.model;
    if (contestant.batch > 0) set_batch(contestant.batch, config.train, config.data);
    if (contestant.learning_rate > 0)
      config.train = at_rate(config.train, contestant.learning_rate);
    config.train.seed = seed;
    return config;
  };
  for (const Contestant& contestant : contestants) config_of(contestant, context.seed()).check();
  return compare(context, contestants, runs, [&](const Contestant& contestant, uint64_t seed) {
    return std::make_unique<task::TaskLearner>(config_of(contestant, seed));
  });
}

void add_comparison(const std::vector<TrainedContestant<task::TaskLearner>>& compared,
                    const std::string& unlike, StudyResults& results) {
  const Learner& learner = *compared.front().first().learner;
  const ShownMetric metric = learner.shown().front();
  std::vector<TrainedRuns> all;
  std::vector<std::string> scores;
  for (const auto& contestant : compared) {
    auto& runs = all.emplace_back();
    runs.name = contestant.name;
    runs.parameters = contestant.first().learner->parameter_count();
    runs.batch = contestant.first().learner->units_per_step();
    for (const auto& training : contestant.trainings) runs.runs.push_back(training.trained);
    const Spread score = runs.score(metric);
    scores.push_back(fmt::format("{} {:.{}f}{}", contestant.name, score.mean, metric.decimals,
                                 deviation_text(score, metric.decimals)));
    if (contestant.published)
      results.compare(
          {.what = with_deviation(contestant.name + ", " + metric.label, score, metric.decimals),
           .published = *contestant.published,
           .ours = score.mean,
           .digits = 4,
           .unlike = unlike});
  }
  const bool several =
      std::ranges::any_of(all, [](const TrainedRuns& runs) { return runs.runs.size() > 1; });
  results.conclude(fmt::format("After training, {}{}: {}.", metric.label,
                               several ? " (mean ± standard deviation, n - 1)" : "",
                               fmt::join(scores, ", ")));
  add_training_results(all, learner.shown(), learner.trivial_scores(), results);
}

void add_training_differences(const TrainConfig& train, const TrainConfig& of_paper,
                              const StmConfig& stm, const Baselines& baselines,
                              StudyResults& results) {
  const auto method = [](const TrainConfig& config) {
    return fmt::format("{} at a rate of {:g}{}, batches of {}",
                       config.optimizer == OptimizerKind::kAdamW ? "Adam" : "RMSprop",
                       config.learning_rate,
                       config.min_learning_rate < config.learning_rate
                           ? fmt::format(" that falls to {:g}", config.min_learning_rate)
                           : "",
                       config.batch * config.accumulation);
  };
  std::vector<std::string> of_baselines;
  if (baselines.learning_rate > 0)
    of_baselines.push_back(fmt::format("at a rate of {:g}", baselines.learning_rate));
  if (baselines.batch > 0)
    of_baselines.push_back(
        fmt::format("in batches of {}, with as many sequences in all", baselines.batch));
  if (method(train) != method(of_paper) || !of_baselines.empty())
    results.add_difference(fmt::format(
        "Training: {}, at most {} updates, {}; the paper has {}.", method(train), train.steps,
        of_baselines.empty() ? "the same for all, by default what suits the two-memory model"
                             : fmt::format("baselines {}", fmt::join(of_baselines, " ")),
        method(of_paper)));
  if (stm.alpha1.value != 0 || stm.alpha2.value != 0 || stm.alpha3.value != 0)
    results.add_difference(fmt::format(
        "The factors alpha 1, 2, 3 of the two-memory model begin at {:g}, {:g}, {:g}; in the "
        "authors' code at 0, 0, 0.",
        stm.alpha1.value, stm.alpha2.value, stm.alpha3.value));
}

}  // namespace tessera::stm_study
