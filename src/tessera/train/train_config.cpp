#include "tessera/train/train_config.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tessera/base/error.h"
#include "tessera/base/machine.h"
#include "tessera/train/optimizer.h"

namespace tessera {

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
  config::check_demands(*this, std::string(where));
  require(min_learning_rate >= 0 && min_learning_rate <= learning_rate, "min_learning_rate",
          min_learning_rate, "0 to learning_rate");
  require(decay_steps == 0 || decay_steps > warmup_steps, "decay_steps", decay_steps,
          "more than warmup_steps, or 0 for the last step");
  require(evaluate_every > 0 || (patience == 0 && stop_loss == 0 && halve_loss == 0),
          "evaluate_every", evaluate_every,
          "1 or more if patience, stop_loss or halve_loss is above 0");
  require(threads >= 0 && threads <= kMostThreads, "threads", threads,
          fmt::format("0 to {}", kMostThreads));
}

Schedule TrainConfig::schedule() const {
  return {learning_rate, min_learning_rate, warmup_steps, decay_steps > 0 ? decay_steps : steps,
          decay};
}

std::unique_ptr<Optimizer> TrainConfig::make_optimizer(const NamedTensors& parameters) const {
  if (optimizer == OptimizerKind::kRmsprop)
    return std::make_unique<Rmsprop>(parameters, RmspropConfig{smoothing, momentum, epsilon});
  return std::make_unique<AdamW>(parameters,
                                 AdamWConfig{weight_decay, beta1, beta2, epsilon, bias_correction});
}

}  // namespace tessera
