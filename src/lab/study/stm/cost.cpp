// Tables 5 and 6: what outer-product attention and the models of this paper cost.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "lab/study/stm/sequence_comparison.h"
#include "lab/study/stm/studies.h"
#include "lab/task/priority_sort/priority_sort.h"
#include "lab/task/sequence/draws.h"
#include "tessera/base/interrupt.h"
#include "tessera/base/progress.h"
#include "tessera/model/model_kind.h"
#include "tessera/ops/self_attentive_memory.h"
#include "tessera/train/checkpoint.h"

namespace tessera::stm_study {
namespace {

struct CostSettings {
  int64_t batch = 128;
  int64_t iterations = 5;
  std::vector<int64_t> widths = {16, 32, 64, 128};

  template <typename Visitor>
  void visit_fields(Visitor&& field) {
    field("batch", batch, "sequences of a batch", config::at_least(1));
    field("iterations", iterations, "timed training iterations of each model, after one more",
          config::at_least(1));
    field("widths", widths, "widths of keys and values at which the attentions are timed",
          config::at_least(1));
  }
};

/// Seconds of the middle one of some calls, after one that is not timed. Throws Interrupted
/// between two calls after a signal.
template <typename Call>
double median_seconds(int64_t calls, const Call& call) {
  std::vector<double> seconds;
  for (int64_t i = 0; i <= calls; ++i) {
    InterruptGuard::stop_if_interrupted("stopped while timing");
    const double taken = seconds_of(call);
    if (i > 0) seconds.push_back(taken);
  }
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

/// Models of about a million parameters, as table 6 has them; published: seconds on a V100.
std::vector<Contestant> models_of_table6() {
  // The text gives no sizes, only that each has about a million parameters.
  const NtmConfig ntm{.controller = 400, .heads = 5};
  const RmcConfig rmc{.head_width = 40};
  return {{"LSTM", model_table<VectorLstm>({}), 0.1},
          {"NTM", model_table<Ntm>(ntm), 1.8},
          {"RMC", model_table<Rmc>(rmc), 0.3},
          {"STM", model_table<Stm>({}), 0.3}};
}

/// One row of table 6: forward, backward and update on a batch of priority sort.
struct Iteration {
  int64_t parameters;
  double seconds;
};

Iteration timed_iteration(const Contestant& contestant, const CostSettings& settings,
                          uint64_t seed) {
  const task::PrioritySort task({});
  task::TaskTrainingConfig config;
  config.model = contestant.model;
  const auto [kind, fields] = config.model_for(task.shape());
  const auto model = model_kind(kind).make(fields, seed, at::kCPU);
  const auto optimizer = config.train.make_optimizer(trainable_parameters(*model));
  const auto batch = task::make_batch(task, seed, task::fresh_samples(0, settings.batch));
  const at::Tensor inputs = batch.inputs.transpose(0, 1).contiguous();
  const double seconds = median_seconds(settings.iterations, [&] {
    const at::Tensor answers = model->forward(inputs, {}, batch.first_answer).transpose(0, 1);
    task::answer_loss(answers, batch).backward();
    optimizer->step(config.train.learning_rate);
    optimizer->clear_gradients();
  });
  return {model->parameter_count(), seconds};
}

void add_models(StudyContext& context, const CostSettings& settings) {
  Table table(
      "Seconds of one training iteration on priority sort",
      {"model", "parameters", "seconds", "over LSTM", "published (V100)", "over LSTM there"});
  const auto all = models_of_table6();
  Progress progress(context.progress(), "Models", std::ssize(all));
  double lstm = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto [parameters, seconds] = timed_iteration(all[i], settings, context.seed());
    if (i == 0) lstm = seconds;
    table.add_row({all[i].name, parameters, Cell::significant(seconds, 3),
                   Cell::significant(seconds / lstm, 3), Cell(*all[i].published),
                   Cell::significant(*all[i].published / *all[0].published, 3)});
    context.results().compare({.what = all[i].name + ", seconds of one iteration",
                               .published = *all[i].published,
                               .ours = seconds,
                               .unlike = "on a V100"});
    progress.advance();
  }
  context.results().add_table("iterations", std::move(table));
}

/// Dot-product and outer-product attention of 8 queries over 8 keys and values, forward alone.
void add_attentions(StudyContext& context, const CostSettings& settings) {
  constexpr int64_t kSlots = 8;
  at::NoGradGuard no_grad;
  at::manual_seed(context.seed());
  Progress progress(context.progress(), "Attentions", std::ssize(settings.widths));
  for (const int64_t d : settings.widths) {
    const auto slots = [&] { return at::randn({settings.batch, kSlots, d}); };
    const at::Tensor queries = slots(), keys = slots(), values = slots();
    const double dot = median_seconds(settings.iterations, [&] {
      at::matmul(at::softmax(at::matmul(queries, keys.transpose(1, 2)), -1), values);
    });
    const double outer = median_seconds(
        settings.iterations, [&] { ops::outer_product_attention(queries, keys, values); });
    context.results().add_point({"dot-product attention", static_cast<double>(d), dot});
    context.results().add_point({"outer-product attention", static_cast<double>(d), outer});
    progress.advance();
  }
  context.results().add_chart(
      "attentions",
      context.results().chart_of_points("Seconds of one attention", {"width d", Scale::kLog},
                                        {"seconds", Scale::kLog}),
      "8 queries, 8 keys and values of width d. Table 5: O(d) for the one, O(d²) for the other.");
}

}  // namespace

void cost(StudyContext& context) {
  const CostSettings settings = context.settings<CostSettings>(
      {.batch = 8, .iterations = 2, .widths = {16, 32}}, {}, {.iterations = 20}, kNoSetting);
  check_list("widths", settings.widths);
  add_models(context, settings);
  add_attentions(context, settings);
  context.results().add_difference(fmt::format(
      "Times are those of this machine's processor, threads: {}; the published ones are "
      "of a V100.",
      context.threads()));
  if (settings.batch != CostSettings().batch)
    context.results().add_difference(
        fmt::format("Batches of {}; the paper has {}.", settings.batch, CostSettings().batch));
}

}  // namespace tessera::stm_study
