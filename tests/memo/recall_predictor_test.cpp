#include "tessera/memo/recall_predictor.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tessera/base/error.h"

namespace tessera::memo {
namespace {

/// Error 10 / d with a standard error of 1 / d.
class Hyperbola final : public RecallPredictor {
 public:
  int64_t associations() const override { return 7; }
  int64_t probes() const override { return 3; }
  Spread error(int64_t dimension) const override {
    return {10.0 / static_cast<double>(dimension), 1.0 / static_cast<double>(dimension), 1};
  }
  double floor() const override { return 0.001; }
};

TEST(RecallPredictor, FindsTheFirstMultipleThatReachesTheError) {
  const Hyperbola predictor;
  EXPECT_EQ(predictor.smallest_dimension(0.11, 10), 100);
  EXPECT_EQ(predictor.smallest_dimension(0.11, 64), 128);
  EXPECT_EQ(predictor.smallest_dimension(100, 64), 64);
  EXPECT_EQ(predictor.smallest_dimension(100, 1), 1);
  EXPECT_EQ(predictor.smallest_dimension(1e-6, 1), 0);
  EXPECT_THROW(predictor.smallest_dimension(0.1, 0), UsageError);
}

TEST(RecallPredictor, PlansAreInMultiplesOf64) {
  const SizePlan plan = Hyperbola().plan_for(0.11);
  EXPECT_EQ(plan.dimension, 128);
  EXPECT_DOUBLE_EQ(plan.error, 10.0 / 128);
  EXPECT_DOUBLE_EQ(plan.standard_error, 1.0 / 128);
  EXPECT_EQ(plan.associations, 7);
  EXPECT_EQ(plan.probes, 3);
  EXPECT_DOUBLE_EQ(plan.error_in_any_dimension, 0.001);
}

TEST(RecallPredictor, PlansTheDimensionGiven) {
  const SizePlan plan = Hyperbola().plan_in(100);
  EXPECT_EQ(plan.dimension, 100);
  EXPECT_DOUBLE_EQ(plan.error, 0.1);
}

TEST(RecallPredictor, SaysWhereNoDimensionIsEnough) {
  const SizePlan plan = Hyperbola().plan_for(1e-6);
  EXPECT_FALSE(plan.dimension.has_value());
  EXPECT_EQ(plan.associations, 7);
  EXPECT_DOUBLE_EQ(plan.error_in_any_dimension, 0.001);
}

}  // namespace
}  // namespace tessera::memo
