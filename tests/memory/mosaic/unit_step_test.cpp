// A step of a memory unit runs as one loop in float on the CPU, and as composed tensor functions in
// double. That steps give the sequence is held in ops/memory_step_test.cpp and, with states, bounds
// and rows of different lengths, by what every language model promises.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/memory/mosaic/context_memory.h"
#include "tessera/memory/mosaic/persistent_memory.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/shake.h"

namespace tessera {
namespace {

constexpr double kTolerance = 1e-5;  // other order of the same float sums

MemoryOptions options(Parameterisation parameterisation, bool bias) {
  MemoryOptions result;
  result.channels = 42;  // heads of 14 channels: less than a vector
  result.heads = 3;
  result.bias = bias;
  result.parameterisation = parameterisation;
  return result;
}

/// Every parameter away from its first value.
template <typename Unit>
Unit shaken(Unit unit) {
  test::shake(*unit, 0.05);
  return unit;
}

class UnitStep : public testing::TestWithParam<std::tuple<Parameterisation, bool>> {
 protected:
  void SetUp() override { at::manual_seed(3); }

  MemoryOptions options_ = options(std::get<0>(GetParam()), std::get<1>(GetParam()));
};

TEST_P(UnitStep, SeesParametersThatChangeBetweenSteps) {
  at::NoGradGuard no_grad;
  auto unit = shaken(ContextMemory(options_)), reference = ContextMemory(options_);
  reference->to(at::kDouble);
  const auto copy_parameters = [&] {
    const auto from = unit->parameters(), to = reference->parameters();
    for (size_t k = 0; k < from.size(); ++k) to[k].copy_(from[k]);
  };
  copy_parameters();
  const at::Tensor x = at::randn({1, 4, 42}), now = x.narrow(1, 0, 1);
  const ContextMemoryState state = unit->read(x, {}).second;
  const ContextMemoryState expected_state = reference->read(x.to(at::kDouble), {}).second;
  const at::Tensor before = unit->read(now, state).first;
  for (auto& parameter : unit->parameters()) parameter.mul_(0.9);
  copy_parameters();
  const at::Tensor after = unit->read(now, state).first;
  EXPECT_FALSE(after.equal(before));
  const at::Tensor expected = reference->read(now.to(at::kDouble), expected_state).first;
  EXPECT_LT(test::relative_error(after.to(at::kDouble), expected), kTolerance);
}

TEST_P(UnitStep, RefusesOtherSizes) {
  auto context = shaken(ContextMemory(options_));
  const ContextMemoryState state = context->read(at::randn({2, 5, 42}), {}).second;
  EXPECT_THROW(context->read(at::randn({3, 1, 42}), state), UsageError);
  EXPECT_THROW(context->read(at::randn({2, 1, 41}), state), UsageError);
  auto persistent = shaken(PersistentMemory(options_, 37, 1));
  EXPECT_THROW(persistent->read(at::randn({3, 1, 42}), at::zeros({2, 3, 14})), UsageError);
  EXPECT_THROW(persistent->read(at::randn({2, 1, 41}), {}), UsageError);
}

INSTANTIATE_TEST_SUITE_P(Forms, UnitStep,
                         testing::Combine(testing::Values(Parameterisation::kPaper,
                                                          Parameterisation::kNano),
                                          testing::Bool()));

}  // namespace
}  // namespace tessera
