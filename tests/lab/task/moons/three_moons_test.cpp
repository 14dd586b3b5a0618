#include "lab/task/moons/three_moons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <set>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera::task {
namespace {

using test::message_of;
using testing::HasSubstr;

constexpr double kTurn = 2 * std::numbers::pi;

/// All sets of three different periods out of 0.5, 1, …, 3.5 with a common period of at most this.
std::set<MoonPeriods> sets_within(double longest) {
  std::set<MoonPeriods> sets;
  for (double a = 0.5; a <= 3.5; a += 0.5)
    for (double b = a + 0.5; b <= 3.5; b += 0.5)
      for (double c = b + 0.5; c <= 3.5; c += 0.5)
        if (common_period({a, b, c}) <= longest) sets.insert({a, b, c});
  return sets;
}

TEST(ThreeMoons, CommonPeriodsWorkedByHand) {
  EXPECT_EQ(common_period({0.5, 1, 2}), 2);
  EXPECT_EQ(common_period({0.5, 1, 1.5}), 3);
  EXPECT_EQ(common_period({1, 2, 3}), 6);
  EXPECT_EQ(common_period({0.1, 0.2, 0.3}), 0.6);
}

// The authors keep 35 / 4 + 1 sets: the 6 of a common period below 6, and 3 of those of 6.
TEST(ThreeMoons, TheSetsAreNineOfTheLeastCommonPeriods) {
  const auto& training = moon_periods(MoonSets::kTraining);
  const auto& held_out = moon_periods(MoonSets::kHeldOut);
  std::set<MoonPeriods> all(training.begin(), training.end());
  all.insert(held_out.begin(), held_out.end());
  EXPECT_EQ(training.size(), 8u);
  EXPECT_EQ(held_out, (std::vector<MoonPeriods>{{1, 2, 3}}));
  EXPECT_EQ(all.size(), 9u);
  const auto shorter = sets_within(5.9), possible = sets_within(6);
  EXPECT_EQ(shorter.size(), 6u);
  for (const MoonPeriods& set : shorter) EXPECT_TRUE(all.contains(set));
  for (const MoonPeriods& set : all) EXPECT_TRUE(possible.contains(set));
}

TEST(ThreeMoons, ObservationsAreTheMoonsAngles) {
  const ThreeMoons task({.steps = 36, .rate = 2, .periods = {1, 2, 3}});
  const auto moons = task.describe(5, 3);
  const TaskSample sample = task.sample(5, 3);
  ASSERT_EQ(sample.inputs.size(), 36u * 6);
  for (size_t step = 0; step < 36; ++step)
    for (size_t moon = 0; moon < 3; ++moon) {
      // Rate 2: in a step moon i goes 1 / (2 i) of its way round.
      const double angle =
          moons["phases"][moon].get<double>() +
          kTurn * static_cast<double>(step) / (2.0 * static_cast<double>(moon + 1));
      EXPECT_NEAR(sample.inputs[step * 6 + 2 * moon], std::sin(angle), 1e-4);
      EXPECT_NEAR(sample.inputs[step * 6 + 2 * moon + 1], std::cos(angle), 1e-4);
    }
}

TEST(ThreeMoons, EveryStepAnswersWithTheNextObservation) {
  const ThreeMoons task({.steps = 7});
  const TaskSample sample = task.sample(1, 2);
  EXPECT_EQ(sample.steps, 7);
  EXPECT_EQ(sample.first_answer, 0);
  EXPECT_EQ(sample.answers, 7);
  ASSERT_EQ(sample.vectors.size(), 7u * 6);
  for (size_t i = 6; i < sample.inputs.size(); ++i)
    EXPECT_EQ(sample.inputs[i], sample.vectors[i - 6]);
}

TEST(ThreeMoons, TheMoonsReturnAfterTheCommonPeriod) {
  const ThreeMoons task({});
  std::set<std::vector<double>> seen;
  for (int64_t index = 0; index < 60; ++index) {
    const auto moons = task.describe(2, index);
    seen.insert(moons["periods"].get<std::vector<double>>());
    const auto& rows = moons["observations"];
    ASSERT_EQ(rows.size(), 801u);
    const double lcm = moons["lcm"], rate = moons["rate"];
    EXPECT_EQ(lcm, common_period(moons["periods"].get<MoonPeriods>()));
    EXPECT_GE(800 / (lcm * rate), 3 - 1e-9);
    // 9 times the rate is a whole number of steps.
    const auto later = static_cast<size_t>(std::lround(lcm * rate * 9));
    if (later > 800) continue;
    for (size_t i = 0; i < 6; ++i)
      EXPECT_NEAR(rows[0][i].get<double>(), rows[later][i].get<double>(), 1e-4);
  }
  EXPECT_EQ(seen.size(), 8u);
}

TEST(ThreeMoons, SamplesAreAFunctionOfSeedAndIndex) {
  const ThreeMoons task({.steps = 5});
  EXPECT_EQ(task.sample(3, 4).inputs, task.sample(3, 4).inputs);
  EXPECT_NE(task.sample(3, 4).inputs, task.sample(3, 5).inputs);
  EXPECT_NE(task.sample(3, 4).inputs, task.sample(4, 4).inputs);
  EXPECT_EQ(task.draw_sample(3, 4, 9).inputs, task.sample(3, 4).inputs);  // no sizes to share
  const ThreeMoons held_out({.steps = 5, .sets = MoonSets::kHeldOut});
  for (int64_t index = 0; index < 5; ++index)
    EXPECT_EQ(held_out.describe(3, index)["periods"], (std::vector<double>{1, 2, 3}));
}

// Each level against what the strategy really scores.
TEST(ThreeMoons, LevelsAreWhatTheStrategiesScore) {
  const ThreeMoons task({});
  double zero = 0, last = 0;
  int64_t numbers = 0;
  for (int64_t index = 0; index < 200; ++index) {
    const TaskSample sample = task.sample(1, index);
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      zero += std::abs(sample.vectors[i]);
      last += std::abs(sample.vectors[i] - sample.inputs[i]);
    }
    numbers += std::ssize(sample.inputs);
  }
  const auto levels = task.levels();
  EXPECT_NEAR(levels[0].value, zero / static_cast<double>(numbers), 2e-3);
  EXPECT_NEAR(levels[1].value, last / static_cast<double>(numbers), 5e-3);  // the sets drawn vary
}

TEST(ThreeMoons, RefusesWhatMakesNoTask) {
  const auto refusal = [](const ThreeMoonsConfig& config) {
    return message_of<UsageError>([&] { ThreeMoons task(config); });
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.periods = {0.5, 2.5, 3}}), "");
  EXPECT_THAT(refusal({.steps = 0}), HasSubstr("task.steps is 0"));
  EXPECT_THAT(refusal({.rate = 0}), HasSubstr("task.rate is 0"));
  EXPECT_THAT(refusal({.rate = 1e-300}),
              HasSubstr("task.rate is 1e-300, expected a number from 1e-06"));
  EXPECT_EQ(refusal({.rate = 1e-6}), "");
  EXPECT_THAT(refusal({.clip = 0}), HasSubstr("task.clip is 0"));
  EXPECT_THAT(refusal({.clip = NAN}), HasSubstr("clip"));
  for (const auto& periods : std::vector<std::vector<double>>{{1, 2}, {1, 2, 3, 4}, {1, 2, 3.33}})
    EXPECT_THAT(refusal({.periods = periods}), HasSubstr("three multiples of 0.1"));
  for (const double period : {0.0, -3.0, 1e6, static_cast<double>(NAN)})
    EXPECT_THAT(refusal({.periods = {1, 2, period}}),
                HasSubstr("expected a number from 0.1 to 1000"));
}

}  // namespace
}  // namespace tessera::task
