#include "tessera/base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tessera/base/error.h"

namespace tessera {
namespace {

TEST(Spread, FourNumbersByHand) {
  const Spread spread = spread_of(std::vector<double>{1, 2, 3, 6});
  EXPECT_DOUBLE_EQ(spread.mean, 3);
  EXPECT_DOUBLE_EQ(spread.deviation, std::sqrt(14.0 / 3));
  EXPECT_DOUBLE_EQ(spread.standard_error(), std::sqrt(14.0 / 3) / 2);
  EXPECT_EQ(spread_of(std::vector<double>{5}).deviation, 0);
  EXPECT_EQ(spread_of(std::vector<double>{}).standard_error(), 0);
}

TEST(LogLogSlope, FindsTheExponentAndRefusesTheRest) {
  const std::vector<double> x = {1, 10, 1000},
                            y = {3, 3 * std::pow(10, -1.5), 3 * std::pow(1000, -1.5)};
  EXPECT_NEAR(log_log_slope(x, y), -1.5, 1e-12);
  EXPECT_THROW(log_log_slope(std::vector<double>{1}, std::vector<double>{1}), UsageError);
  EXPECT_THROW(log_log_slope(std::vector<double>{1, 2}, std::vector<double>{1, 0}), UsageError);
  EXPECT_THROW(log_log_slope(std::vector<double>{2, 2}, std::vector<double>{1, 3}), UsageError);
  EXPECT_THROW(log_log_slope(std::vector<double>{7, 7, 7}, std::vector<double>{1, 2, 3}),
               UsageError);  // whose mean logarithm is not log 7, by rounding
}

TEST(NormalLaw, TableAgreesWithTheErrorFunction) {
  for (double t = -35; t < 8; t += 0.0137) {
    const double exact = std::log(0.5 * std::erfc(-t / std::sqrt(2.0)));
    EXPECT_NEAR(log_normal_cdf(t), exact, 1e-5 * (1 + std::abs(exact))) << t;
    if (t > 1 && t < 6) {
      EXPECT_NEAR(log_normal_cdf(t) / exact, 1, 1e-3) << t;
    }
  }
  EXPECT_EQ(log_normal_cdf(20), 0);
  EXPECT_TRUE(std::isnan(log_normal_cdf(NAN)));
  EXPECT_NEAR(log_normal_cdf(-36.001) / log_normal_cdf(-35.999), 1, 1e-3);
  EXPECT_NEAR(log_normal_cdf(-100), -5000 - std::log(100 * std::sqrt(2 * M_PI)), 1e-9);
}

}  // namespace
}  // namespace tessera
