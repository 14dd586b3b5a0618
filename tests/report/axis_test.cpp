#include "tessera/report/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/base/error.h"

namespace tessera {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(const Ticks& ticks) {
  std::vector<std::string> all;
  for (const Tick& tick : ticks.ticks) {
    if (!tick.label.empty()) all.push_back(tick.label);
  }
  return all;
}

TEST(LinearTicks, AreMultiplesOfOneTwoOrFive) {
  EXPECT_THAT(labels(linear_ticks(0, 10, 5)), ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(labels(linear_ticks(-0.3, 0.3, 6)),
              ElementsAre("−0.3", "−0.2", "−0.1", "0.0", "0.1", "0.2", "0.3"));
  EXPECT_THAT(labels(linear_ticks(3, 4, 2)), ElementsAre("3.0", "3.5", "4.0"));
  EXPECT_THAT(labels(linear_ticks(0, 60000, 3)),
              ElementsAre("0", "20\u202F000", "40\u202F000", "60\u202F000"));
}

TEST(LinearTicks, TakeOutTheExponentOfLargeAndSmallNumbers) {
  const Ticks large = linear_ticks(0, 2e7, 4);
  EXPECT_EQ(large.exponent, 7);
  EXPECT_THAT(labels(large), ElementsAre("0.0", "0.5", "1.0", "1.5", "2.0"));
  const Ticks small = linear_ticks(0, 3e-9, 3);
  EXPECT_EQ(small.exponent, -9);
  EXPECT_THAT(labels(small), ElementsAre("0", "1", "2", "3"));
  EXPECT_DOUBLE_EQ(small.ticks[3].value, 3e-9);
}

TEST(LogTicks, LabelThePowersOfTen) {
  EXPECT_THAT(labels(log_ticks(0.5, 2000, 6)), ElementsAre("1", "10", "100", "1000"));
  EXPECT_THAT(labels(log_ticks(1e4, 1e6, 6)),
              ElementsAre("10\u202F000", "100\u202F000", "1\u202F000\u202F000"));
  EXPECT_THAT(labels(log_ticks(1e-7, 1e-4, 6)), ElementsAre("10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴"));
  EXPECT_THAT(labels(log_ticks(1e-8, 1e12, 5)), ElementsAre("10⁻⁵", "10⁰", "10⁵", "10¹⁰"));
}

TEST(LogTicks, LabelTwoAndFiveWhereTheSpanIsShort) {
  EXPECT_THAT(labels(log_ticks(3, 60, 6)), ElementsAre("5", "10", "20", "50"));
  // From 900 to 4500 these are only 1000 and 2000: linear ticks.
  EXPECT_THAT(labels(log_ticks(900, 4500, 4)), ElementsAre("1000", "2000", "3000", "4000"));
  // Two labels are enough where they are ten powers apart.
  EXPECT_THAT(labels(log_ticks(1e-9, 1e12, 4)), ElementsAre("10⁰", "10¹⁰"));
  // Between 2.1 and 2.4 there is no such number: linear ticks.
  EXPECT_THAT(labels(log_ticks(2.1, 2.4, 3)), ElementsAre("2.1", "2.2", "2.3", "2.4"));
}

TEST(AxisMap, MapsItsEndsToThePixels) {
  AxisMap linear({.label = "x", .low = 0.0, .high = 10.0}, {});
  linear.set_pixels(100, 200);
  EXPECT_DOUBLE_EQ(linear.pixel(0), 100);
  EXPECT_DOUBLE_EQ(linear.pixel(5), 150);
  EXPECT_DOUBLE_EQ(linear.pixel(20), 300);
  AxisMap log({.label = "x", .scale = Scale::kLog, .low = 1.0, .high = 100.0}, {});
  log.set_pixels(0, 100);
  EXPECT_DOUBLE_EQ(log.pixel(10), 50);
}

TEST(AxisMap, SpansTheDataWithAMargin) {
  const AxisMap positive({.label = "x"}, {1, 11});
  EXPECT_DOUBLE_EQ(positive.low(), 0);  // near zero: starts there
  EXPECT_DOUBLE_EQ(positive.high(), 11.4);
  const AxisMap far({.label = "x"}, {100, 110, std::nan("")});
  EXPECT_DOUBLE_EQ(far.low(), 99.6);
  EXPECT_DOUBLE_EQ(far.high(), 110.4);
}

TEST(AxisMap, TakesAnyData) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> cases = {{},
                                                  {0},
                                                  {5},
                                                  {-5, -5},
                                                  {1e300, -1e300},
                                                  {1e-310},
                                                  {kInf, std::nan("")},
                                                  {1e15, 1e15 + 1},
                                                  {1e-200, 1e200},
                                                  {-1, 0},
                                                  {0, 0, 1e-299}};
  for (const auto& data : cases) {
    for (const Scale scale : {Scale::kLinear, Scale::kLog}) {
      AxisMap axis({.label = "x", .scale = scale}, data);
      EXPECT_LT(axis.low(), axis.high());
      axis.set_pixels(0, 100);
      const Ticks ticks = axis.ticks(6);
      EXPECT_GE(ticks.ticks.size(), 2u) << axis.low() << " to " << axis.high();
      EXPECT_LE(ticks.ticks.size(), 100u);
      for (const Tick& tick : ticks.ticks) {
        EXPECT_GE(axis.pixel(tick.value), -1e-6) << tick.label;
        EXPECT_LE(axis.pixel(tick.value), 100 + 1e-6) << tick.label;
      }
    }
  }
}

TEST(AxisMap, KnowsWhatItCannotShow) {
  const AxisMap log({.label = "x", .scale = Scale::kLog}, {1, 2});
  EXPECT_FALSE(log.can_show(0));
  EXPECT_FALSE(log.can_show(-1));
  EXPECT_FALSE(log.can_show(std::nan("")));
  EXPECT_TRUE(log.can_show(1e-299));
  const AxisMap linear({.label = "x"}, {});
  EXPECT_TRUE(linear.can_show(-1));
  EXPECT_FALSE(linear.can_show(std::numeric_limits<double>::infinity()));
}

TEST(AxisMap, RefusesImpossibleBounds) {
  EXPECT_THROW(AxisMap({.label = "x", .low = 2.0, .high = 1.0}, {}), UsageError);
  EXPECT_THROW(AxisMap({.label = "x", .scale = Scale::kLog, .low = 0.0}, {1}), UsageError);
  EXPECT_THROW(AxisMap({.label = "x", .high = std::nan("")}, {}), UsageError);
}

TEST(AxisMap, NamesTheUnitOfItsTicks) {
  const AxisMap axis({.label = "tokens"}, {0, 2e7});
  EXPECT_EQ(axis.label(axis.ticks(5)), "tokens (×10⁷)");
}

}  // namespace
}  // namespace tessera
