#include "tessera/train/train_config.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tessera/base/error.h"
#include "tessera/base/threads.h"
#include "tessera/train/optimizer.h"

namespace tessera {
namespace {

constexpr int64_t kMostSequences = 65536;  // of one batch

}  // namespace

double Schedule::at(int64_t step) const {
  check_argument(step >= 0, "Schedule::at: step is {}, expected 0 or more", step);
  if (step < warmup_steps)
    return learning_rate * static_cast<double>(step) / static_cast<double>(warmup_steps);
  if (step >= decay_steps) return min_learning_rate;
  const double share =
      static_cast<double>(step - warmup_steps) / static_cast<double>(decay_steps - warmup_steps);
  const double left =
      decay == Decay::kCosine ? (1.0 + std::cos(std::numbers::pi * share)) / 2.0 : 1.0 - share;
  return min_learning_rate + (learning_rate - min_learning_rate) * left;
}

void TrainConfig::check(std::string_view where) const {
  const auto require = [&](bool holds, std::string_view name, auto found, std::string_view wanted) {
    if (!holds) throw UsageError("{}.{} is {}, expected {}", where, name, found, wanted);
  };
  const auto whole = [&](std::string_view name, int64_t value, int64_t least) {
    require(value >= least, name, value, least == 0 ? "0 or more" : "1 or more");
  };
  const auto share = [&](std::string_view name, double value) {
    require(value >= 0 && value < 1, name, value, "at least 0 and below 1");
  };
  const auto not_negative = [&](std::string_view name, double value) {
    require(value >= 0 && std::isfinite(value), name, value, "a number from 0 on");
  };
  whole("steps", steps, 1);
  require(batch >= 1 && batch <= kMostSequences, "batch", batch,
          fmt::format("1 to {}; train.accumulation makes an update of several batches",
                      kMostSequences));
  whole("accumulation", accumulation, 1);
  require(learning_rate > 0 && std::isfinite(learning_rate), "learning_rate", learning_rate,
          "a number above 0");
  require(min_learning_rate >= 0 && min_learning_rate <= learning_rate, "min_learning_rate",
          min_learning_rate, "0 to learning_rate");
  whole("warmup_steps", warmup_steps, 0);
  whole("decay_steps", decay_steps, 0);
  require(decay_steps == 0 || decay_steps > warmup_steps, "decay_steps", decay_steps,
          "more than warmup_steps, or 0 for the last step");
  not_negative("halve_loss", halve_loss);
  not_negative("weight_decay", weight_decay);
  share("beta1", beta1);
  share("beta2", beta2);
  share("smoothing", smoothing);
  share("momentum", momentum);
  require(epsilon > 0 && std::isfinite(epsilon), "epsilon", epsilon, "a number above 0");
  not_negative("clip", clip);
  not_negative("clip_value", clip_value);
  whole("evaluate_every", evaluate_every, 0);
  whole("evaluate_batches", evaluate_batches, 1);
  whole("patience", patience, 0);
  not_negative("stop_loss", stop_loss);
  require(evaluate_every > 0 || (patience == 0 && stop_loss == 0), "evaluate_every", evaluate_every,
          "1 or more where patience or stop_loss is to end the training");
  whole("checkpoint_every", checkpoint_every, 0);
  whole("keep_checkpoints", keep_checkpoints, 1);
  whole("sample_every", sample_every, 0);
  require(threads >= 0 && threads <= kMostThreads, "threads", threads,
          fmt::format("0 to {}", kMostThreads));
}

Schedule TrainConfig::schedule() const {
  return {learning_rate, min_learning_rate, warmup_steps, decay_steps > 0 ? decay_steps : steps,
          decay};
}

std::unique_ptr<Optimizer> TrainConfig::make_optimizer(const NamedTensors& parameters,
                                                       const AdamW::DecayRule& decays) const {
  if (optimizer == OptimizerKind::kRmsprop)
    return std::make_unique<Rmsprop>(parameters, RmspropConfig{smoothing, momentum, epsilon});
  return std::make_unique<AdamW>(
      parameters, AdamWConfig{weight_decay, beta1, beta2, epsilon, bias_correction}, decays);
}

}  // namespace tessera
