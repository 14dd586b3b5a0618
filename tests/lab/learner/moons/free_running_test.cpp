#include "lab/learner/moons/free_running.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "lab/learner/moons/complex_mosaic.h"
#include "lab/learner/sequence/task_batch.h"
#include "lab/task/moons/three_moons.h"
#include "tessera/base/error.h"

namespace tessera::task {
namespace {

at::Tensor observations(int64_t sequences, int64_t steps) {
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < sequences; ++i) samples.push_back(i);
  return make_batch(ThreeMoons({.steps = steps}), 1, samples).inputs.transpose(0, 1).contiguous();
}

/// The same with everything read from the start for each prediction.
double slow_error(ComplexMosaic& model, const at::Tensor& x, int64_t context, int64_t steps) {
  at::NoGradGuard no_grad;
  at::Tensor known = x.narrow(1, 0, context);
  for (int64_t step = 0; step < steps; ++step)
    known = at::cat({known, model.forward(known).slice(1, known.size(1) - 1)}, 1);
  return (known.slice(1, context) - x.narrow(1, context, steps)).abs().mean().item<double>();
}

TEST(FreeRunning, EqualsReadingEverythingAgainForEachPrediction) {
  ComplexMosaic model({}, 3);
  const at::Tensor x = observations(3, 20);
  const auto errors = free_running_errors(model, x, {.steps = 4, .stride = 3});
  ASSERT_EQ(errors.size(), 6u);
  for (size_t i = 0; i < errors.size(); ++i) {
    EXPECT_EQ(errors[i].context, 1 + 3 * static_cast<int64_t>(i));
    EXPECT_NEAR(errors[i].error, slow_error(model, x, errors[i].context, 4), 1e-5);
  }
}

// Memories that have seen everything: with W = 1 and sharp kernels the next observation is the one
// that followed the same place before.
TEST(FreeRunning, AMemoryForEachMoonIsRightAfterTheSlowestPeriod) {
  at::NoGradGuard no_grad;
  ComplexMosaic model({.beta = 1e4});
  for (at::Tensor& matrix : model.parameters()) {
    matrix.zero_();
    for (int64_t moon = 0; moon < 3; ++moon) matrix[moon][moon][0].fill_(1);
  }
  const ThreeMoons task({.steps = 60, .rate = 8, .periods = {1, 2, 3}});  // lcm: 48 steps
  const at::Tensor x =
      make_batch(task, 1, std::vector<int64_t>{0, 1}).inputs.transpose(0, 1).contiguous();
  const auto errors = free_running_errors(model, x, {.steps = 10});
  ASSERT_EQ(errors.size(), 50u);
  EXPECT_EQ(errors.back().context, 50);
  for (const auto& [context, error] : errors) {
    if (context <= 20) {
      EXPECT_GT(error, 0.02) << context;
    }
    if (context > 24) {
      EXPECT_LT(error, 1e-3) << context;
    }
  }
}

TEST(FreeRunning, SaysHowFarItIs) {
  ComplexMosaic model({}, 3);
  std::vector<int64_t> contexts;
  free_running_errors(model, observations(1, 9), {.steps = 2, .stride = 5},
                      [&](int64_t context) { contexts.push_back(context); });
  EXPECT_EQ(contexts, (std::vector<int64_t>{1, 6}));
}

TEST(FreeRunning, RefusesWhatLeavesNothingToPredict) {
  ComplexMosaic model({}, 3);
  const at::Tensor x = observations(1, 9);
  EXPECT_EQ(free_running_errors(model, x, {.steps = 8}).size(), 1u);
  for (const FreeRunning wrong : {FreeRunning{9, 1}, {0, 1}, {-1, 1}, {2, 0}})
    EXPECT_THROW(free_running_errors(model, x, wrong), UsageError);
  EXPECT_THROW(free_running_errors(model, x[0], {}), UsageError);
  EXPECT_THROW(free_running_errors(model, x.narrow(2, 0, 4), {.steps = 2}), UsageError);
}

}  // namespace
}  // namespace tessera::task
