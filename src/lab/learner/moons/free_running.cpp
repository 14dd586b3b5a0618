#include "lab/learner/moons/free_running.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "tessera/base/interrupt.h"
#include "tessera/tensor/check.h"

namespace tessera::task {
namespace {

/// Mean |prediction - observation| of a first prediction [B, in] and those that follow from it.
/// expected [B, steps, in].
double error_from(SequenceModel& model, at::Tensor prediction, SequenceState state,
                  const at::Tensor& expected) {
  double sum = 0;
  const int64_t steps = expected.size(1);
  for (int64_t step = 0; step < steps; ++step) {
    if (step > 0) {
      SequenceOutput next = model.step(prediction, std::move(state));
      prediction = next.outputs;
      state = std::move(next.state);
    }
    sum += (prediction - expected.select(1, step)).abs().mean().item().toDouble();
  }
  return sum / static_cast<double>(steps);
}

}  // namespace

std::vector<ContextError> free_running_errors(SequenceModel& model, const at::Tensor& observations,
                                              const FreeRunning& options,
                                              const std::function<void(int64_t)>& on_context) {
  at::NoGradGuard no_grad;
  check_shape(observations, {-1, -1, -1}, "free_running_errors: observations");
  const int64_t last = observations.size(1) - options.steps;  // context
  TESSERA_CHECK(options.steps > 0 && options.stride > 0 && last > 0,
                "free_running_errors: ", options.steps, " steps after every ", options.stride,
                " of ", observations.size(1), " observations; expected 1 or more of each and ",
                "more observations than steps");
  std::vector<ContextError> errors;
  SequenceState state = model.empty_state();
  for (int64_t context = 1, read = 0; context <= last; context += options.stride) {
    InterruptGuard::stop_if_interrupted("stopped while measuring predictions");
    SequenceOutput next = model.read(observations.narrow(1, read, context - read), std::move(state),
                                     context - read - 1);
    read = context;
    state = std::move(next.state);
    errors.push_back({context, error_from(model, next.outputs.select(1, 0), state,
                                          observations.narrow(1, context, options.steps))});
    if (on_context) on_context(context);
  }
  return errors;
}

}  // namespace tessera::task
