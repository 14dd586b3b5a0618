#include "tessera/train/schedule.h"

#include <cmath>
#include <numbers>

#include "tessera/base/error.h"

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

}  // namespace tessera
