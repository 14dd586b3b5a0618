#pragma once

#include <cstdint>
#include <functional>

namespace tessera::theory {

/// The size of step t = 0, 1, ….
using StepSchedule = std::function<double(int64_t)>;

StepSchedule constant_step(double size);
/// size * factor^(t / period), t / period rounded down.
StepSchedule stepwise_decay(double size, double factor, int64_t period);
/// size until step `at`, then size * factor.
StepSchedule single_drop(double size, double factor, int64_t at);
/// size / sqrt(1 + strength t / steps).
StepSchedule inverse_root_decay(double size, double strength, int64_t steps);

}  // namespace tessera::theory
