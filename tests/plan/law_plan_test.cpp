#include "tessera/plan/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stop_token>

#include "tessera/base/error.h"

namespace tessera::theory {
namespace {

TEST(LawPlan, ForAnErrorIsThatOfThePlanner) {
  const PlannedLaw law = planned_zipf_law(1000, 5, 2);
  LawPlan plan = plan_for_error(law, 0.02, 4, 1);
  const MemoryPlan memory = plan_memory(RankedLaw::zipf(1000, 2), 5, 0.02);
  EXPECT_EQ(plan.law, "Zipf law, alpha = 2");
  EXPECT_EQ(plan.inputs, 1000);
  EXPECT_EQ(plan.outputs, 5);
  EXPECT_EQ(plan.memory.dimension, memory.dimension);
  EXPECT_EQ(plan.memory.error, memory.error);
  ASSERT_TRUE(plan.simulated.has_value());
  EXPECT_EQ(plan.simulated->runs, 4);
  EXPECT_FALSE(json_of(plan).contains("schemes") || json_of(plan).contains("holds"));
  std::vector<int64_t> parts;
  compare_schemes(law, plan, [&](int64_t done, int64_t of) {
    EXPECT_EQ(of, 1000);
    parts.push_back(done);
  });
  EXPECT_TRUE(std::ranges::is_sorted(parts));
  ASSERT_GT(parts.size(), 1u);
  EXPECT_EQ(parts.back(), 1000);
  ASSERT_EQ(plan.schemes.size(), 5u);
  EXPECT_EQ(plan.schemes[0].error, memory.error);
  for (size_t k = 1; k < 5; ++k) EXPECT_GT(plan.schemes[k].error, memory.error);
  EXPECT_EQ(plan.schemes[2].name, "power rho = 0.25");
  for (const double rho : {0.1, 0.5})
    EXPECT_GT(memory.unseen_error + predicted_error(law.summarise({.rho = rho}), memory.dimension),
              plan.schemes[2].error);
  ASSERT_EQ(plan.holds.size(), 3u);
  EXPECT_EQ(plan.holds[1].items, capacity(5, memory.dimension, 0.01));
}

TEST(LawPlan, CountsTheNumbersOfTheWidestMatrix) {
  const PlannedLaw law = planned_zipf_law(10, 2, 1);
  const LawPlan widest = plan_in_dimension(law, kMostDimension, 0, 1);
  EXPECT_EQ(json_of(widest)["parameters"], int64_t{1'000'000'000'000'000'000});
  EXPECT_THROW(plan_in_dimension(law, kMostDimension + 1, 0, 1), UsageError);
}

TEST(LawPlan, InADimensionKnowsTheLawItself) {
  const LawPlan plan = plan_in_dimension(planned_zipf_law(100000, 5, 2), 100, 0, 1);
  EXPECT_EQ(plan.memory.dimension, 100);
  EXPECT_TRUE(std::isinf(plan.memory.samples));
  EXPECT_EQ(plan.memory.unseen_error, 0);
  EXPECT_FALSE(plan.simulated.has_value());
}

TEST(LawPlan, CountsInAnyOrderAreTheSameLaw) {
  const std::vector<double> sorted = {50, 20, 10, 1}, mixed = {10, 1, 50, 20};
  const LawPlan one = plan_in_dimension(planned_counts(sorted, 3, "counts"), 40, 3, 1);
  const LawPlan other = plan_in_dimension(planned_counts(mixed, 3, "counts"), 40, 3, 1);
  EXPECT_EQ(one.law, "counts");
  EXPECT_EQ(one.inputs, 4);
  EXPECT_EQ(one.memory.error, other.memory.error);
  EXPECT_EQ(one.simulated->mean, other.simulated->mean);
}

TEST(LawPlan, RefusesOutputsThatDoNotFit) {
  for (const int64_t outputs : {int64_t{0}, (int64_t{1} << 32) + 5}) {
    EXPECT_THROW(planned_zipf_law(10, outputs, 2), UsageError);
    EXPECT_THROW(planned_counts(std::vector<double>{1, 2}, outputs, "counts"), UsageError);
  }
}

TEST(LawPlan, ItsSimulationEndsWhereItIsAskedToStop) {
  std::stop_source stop;
  stop.request_stop();
  const PlannedLaw law = planned_zipf_law(1000, 5, 2);
  for (const std::optional<int64_t> runs : {std::optional<int64_t>(3), std::optional<int64_t>()}) {
    EXPECT_THROW(plan_in_dimension(law, 40, runs, 1, stop.get_token()), Interrupted);
    EXPECT_THROW(plan_for_error(law, 0.02, runs, 1, stop.get_token()), Interrupted);
  }
}

TEST(LawPlan, DoesNotSimulateWhatWouldTakeLongOrMuchMemory) {
  EXPECT_FALSE(plan_in_dimension(planned_zipf_law(5000000, 5, 2), 100, 1, 1).simulated.has_value());
  // Few numbers to draw, but products of 4096 x 4096 x 10000.
  EXPECT_FALSE(
      plan_in_dimension(planned_zipf_law(10000, 10000, 1.5), 4096, 3, 1).simulated.has_value());
  // Two columns, for which whole tiles are drawn.
  EXPECT_FALSE(plan_in_dimension(planned_zipf_law(2000000, 1, 1.5), 2, {}, 1).simulated);
  // Quick, but gigabytes.
  EXPECT_FALSE(plan_in_dimension(planned_zipf_law(2, 2, 1), 60000000, 1, 1).simulated.has_value());
}

}  // namespace
}  // namespace tessera::theory
