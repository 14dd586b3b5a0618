// A step of a memory unit runs as one loop in float on the CPU, and as composed tensor functions in
// double: both must give the same outputs and states.

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

/// The same unit with doubles.
template <typename Unit>
Unit in_double(const Unit& unit, Unit copy) {
  at::NoGradGuard no_grad;
  copy->to(at::kDouble);
  const auto from = unit->parameters();
  auto to = copy->parameters();
  for (size_t k = 0; k < from.size(); ++k) to[k].copy_(from[k]);
  return copy;
}

void expect_equal(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.scalar_type(), at::kFloat);
  EXPECT_LT(test::relative_error(actual.to(at::kDouble), expected), kTolerance);
}

class UnitStep : public testing::TestWithParam<std::tuple<Parameterisation, bool>> {
 protected:
  void SetUp() override { at::manual_seed(3); }

  MemoryOptions options_ = options(std::get<0>(GetParam()), std::get<1>(GetParam()));
};

TEST_P(UnitStep, OfAContextMemoryAgreesWithTheComposedOne) {
  auto unit = shaken(ContextMemory(options_));
  auto reference = in_double(unit, ContextMemory(options_));
  for (const MemoryBound bound :
       {MemoryBound{}, MemoryBound{6}, MemoryBound{6, Eviction::kLeastUsed}})
    for (int64_t batch : {1, 2, 7, 17}) {
      ContextMemoryState state({bound}), expected_state({bound});
      for (int step = 0; step < 20; ++step) {
        const at::Tensor x = at::randn({batch, 1, 42});
        auto [y, next] = unit->read(x, state);
        auto [expected, expected_next] = reference->read(x.to(at::kDouble), expected_state);
        expect_equal(y, expected);
        expect_equal(next.leaky_key, expected_next.leaky_key);
        expect_equal(next.pending_key, expected_next.pending_key);
        expect_equal(next.pending_raw_value, expected_next.pending_raw_value);
        state = std::move(next);
        expected_state = std::move(expected_next);
      }
      EXPECT_EQ(state.pairs.counts(), expected_state.pairs.counts());
      expect_equal(state.pairs.keys(0), expected_state.pairs.keys(0));
      expect_equal(state.pairs.values(batch - 1), expected_state.pairs.values(batch - 1));
    }
}

TEST_P(UnitStep, OfRowsWithDifferentCountsIsThatOfEachRow) {
  auto unit = shaken(ContextMemory(options_));
  const at::Tensor x = at::randn({3, 12, 42});
  std::vector<ContextMemoryState> alone(3);
  for (int64_t row = 0; row < 3; ++row)
    alone[row] = unit->read(x.narrow(0, row, 1).narrow(1, 0, 1 + 3 * row), {}).second;
  ContextMemoryState together = ContextMemoryState::stack({&alone[0], &alone[1], &alone[2]});
  for (int64_t t = 7; t < 12; ++t) {
    auto [y, next] = unit->read(x.narrow(1, t, 1), std::move(together));
    together = std::move(next);
    for (int64_t row = 0; row < 3; ++row) {
      auto [one, after] = unit->read(x.narrow(0, row, 1).narrow(1, t, 1), std::move(alone[row]));
      alone[row] = std::move(after);
      expect_equal(y.narrow(0, row, 1), one.to(at::kDouble));
    }
  }
  EXPECT_EQ(together.pairs.counts(), (std::vector<int64_t>{5, 8, 11}));
}

TEST_P(UnitStep, OfAPersistentMemoryAgreesWithTheComposedOne) {
  for (int64_t count : {1, 3}) {
    auto unit = shaken(PersistentMemory(options_, 37, count));
    auto reference = in_double(unit, PersistentMemory(options_, 37, count));
    for (int64_t batch : {1, 7, 17}) {
      at::Tensor leaky_key, expected_leaky_key;
      for (int step = 0; step < 4; ++step) {
        const at::Tensor x = at::randn({batch, 1, 42});
        const auto [y, next] = unit->read(x, leaky_key);
        const auto [expected, expected_next] =
            reference->read(x.to(at::kDouble), expected_leaky_key);
        expect_equal(y, expected);
        expect_equal(next, expected_next);
        leaky_key = next;
        expected_leaky_key = expected_next;
      }
    }
  }
}

TEST_P(UnitStep, SeesParametersThatChangeBetweenSteps) {
  auto unit = shaken(ContextMemory(options_));
  auto reference = in_double(unit, ContextMemory(options_));
  const at::Tensor x = at::randn({1, 4, 42}), now = x.narrow(1, 0, 1);
  const ContextMemoryState state = unit->read(x, {}).second;
  const ContextMemoryState expected_state = reference->read(x.to(at::kDouble), {}).second;
  const at::Tensor before = unit->read(now, state).first;
  for (auto changed : {unit, reference}) {
    at::NoGradGuard no_grad;
    for (auto& parameter : changed->parameters()) parameter.mul_(0.9);
  }
  const at::Tensor after = unit->read(now, state).first;
  EXPECT_FALSE(after.equal(before));
  expect_equal(after, reference->read(now.to(at::kDouble), expected_state).first);
}

TEST_P(UnitStep, LeavesTheStateThatItGoesOnFromAsItWas) {
  auto unit = shaken(ContextMemory(options_));
  const ContextMemoryState state = unit->read(at::randn({2, 5, 42}), {}).second;
  const at::Tensor x = at::randn({2, 1, 42});
  const at::Tensor once = unit->read(x, state).first;
  EXPECT_TRUE(unit->read(x, state).first.equal(once));
  EXPECT_EQ(state.pairs.counts(), (std::vector<int64_t>{4, 4}));
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
