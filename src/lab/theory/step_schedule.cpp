#include "lab/theory/step_schedule.h"

#include <cmath>

#include "tessera/base/error.h"

namespace tessera::theory {

StepSchedule constant_step(double size) {
  return [=](int64_t) { return size; };
}

StepSchedule stepwise_decay(double size, double factor, int64_t period) {
  check_argument(period > 0, "stepwise_decay: a period of {} steps", period);
  return [=](int64_t t) {
    const int64_t drops = t / period;
    return size * std::pow(factor, static_cast<double>(drops));
  };
}

StepSchedule single_drop(double size, double factor, int64_t at) {
  return [=](int64_t t) { return t < at ? size : size * factor; };
}

StepSchedule inverse_root_decay(double size, double strength, int64_t steps) {
  check_argument(steps > 0, "inverse_root_decay: {} steps", steps);
  return [=](int64_t t) {
    return size / std::sqrt(1 + strength * static_cast<double>(t) / static_cast<double>(steps));
  };
}

}  // namespace tessera::theory
