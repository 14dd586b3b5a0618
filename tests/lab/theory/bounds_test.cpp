#include "lab/theory/bounds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/error_predictor.h"

namespace tessera::theory {
namespace {

TEST(Proposition1, SharpConstant) {
  for (const double alpha : {2.0, 3.0}) {
    const RankedLaw law = RankedLaw::zipf(1000000, alpha);
    for (const double samples : {1e4, 1e6})
      EXPECT_NEAR(law.unseen_mass(samples) / unseen_mass_rate(alpha, samples), 1, 0.003)
          << alpha << " " << samples;
  }
  EXPECT_THROW(unseen_mass_rate(1, 10), UsageError);
}

TEST(Theorem1, BoundsHoldAroundTheExpectedError) {
  const AssociationTask task = zipf_task(1000, 5, 2);
  for (const int64_t d : {20, 100, 1000, 10000, 1000000}) {
    for (const double rho : {0.0, 0.5, 1.0}) {
      const auto q = scheme_weights({.rho = rho}, task.law);
      const double error = predicted_error(summarise_memory(task, q), d);
      EXPECT_LE(error, theorem1_upper_bound(task, q, d)) << d << " " << rho;
      EXPECT_GE(error, theorem1_lower_bound(task, q, d)) << d << " " << rho;
    }
  }
}

TEST(Theorem1, IsNotVacuousEverywhere) {
  const AssociationTask task = zipf_task(1000, 5, 2);
  const auto all = scheme_weights({.rho = 0}, task.law);
  EXPECT_DOUBLE_EQ(theorem1_lower_bound(task, all, 60), 1.0 / 20);  // 3 * 61 <= 200: overflow
  EXPECT_EQ(theorem1_lower_bound(task, all, 1000), 0.0);
  EXPECT_LT(theorem1_upper_bound(task, scheme_weights({.rho = 0, .stored = 5}, task.law), 1000000),
            0.2);
  EXPECT_THROW(theorem1_upper_bound(task, all, 10), UsageError);
  EXPECT_THROW(theorem1_upper_bound(zipf_task(10, 3, 2), std::vector<float>(10, 1), 100),
               UsageError);
  EXPECT_THROW(theorem1_lower_bound(task, std::vector<float>(3, 1), 10), UsageError);
}

TEST(SurvivalError, CountsWhatIsBelowTheNoise) {
  AssociationTask task{.law = {0.5, 0.3, 0.2}, .output = {0, 1, 0}, .outputs = 2};
  // Q = (4 + 1/4, 1): with d = 10 the limit on q^2 is 0.425, so only the last input is lost.
  EXPECT_DOUBLE_EQ(survival_error(task, std::vector<float>{2, 1, 0.5f}, 10), 0.2);
}

/// Slopes of the predictor between decades of d; N = 10^8.
TEST(Proposition2, SlopesOfTheExpectedError) {
  for (const double alpha : {1.5, 3.0}) {
    for (const double rho : {0.75, 1.0}) {
      const MemorySummary memory = summarise_zipf_memory(100000000, 5, alpha, {.rho = rho});
      const std::vector<double> d = {1e4, 1e6};
      const std::vector<double> error = {predicted_error(memory, 10000),
                                         predicted_error(memory, 1000000)};
      EXPECT_NEAR(log_log_slope(d, error), -unthresholded_exponent(alpha, rho), 0.01)
          << alpha << " " << rho;
    }
  }
  EXPECT_EQ(unthresholded_load(2, 1, 1e6), 1);
  EXPECT_DOUBLE_EQ(unthresholded_load(2, 0.25, 1e6), std::log(1e6));
  EXPECT_NEAR(unthresholded_load(2, 0.125, 1e6), 1000, 1e-6);
  EXPECT_THROW(unthresholded_exponent(2, 0), UsageError);
}

/// The least error over P, at powers of 1.1.
double best_thresholded_error(double alpha, double rho, int64_t d) {
  double best = 1;
  for (double stored = static_cast<double>(d) / 30; stored < 3.0 * static_cast<double>(d);
       stored *= 1.1)
    best = std::min(
        best,
        predicted_error(
            summarise_zipf_memory(10000000, 5, alpha, {rho, static_cast<int64_t>(stored)}), d));
  return best;
}

TEST(Proposition3, SlopeIsThatOfTheMaximumFormNotOfTheSum) {
  const double alpha = 1.5, rho = 0.25;
  const std::vector<double> d = {300, 10000};
  const std::vector<double> error = {best_thresholded_error(alpha, rho, 300),
                                     best_thresholded_error(alpha, rho, 10000)};
  const double slope = log_log_slope(d, error);
  EXPECT_NEAR(slope, -thresholded_exponent(alpha, rho), 0.04);
  EXPECT_GT(std::abs(slope + (alpha - 1) / (2 * rho * alpha + 1)), 0.15);
  EXPECT_DOUBLE_EQ(thresholded_exponent(2, 0), 1);
  EXPECT_DOUBLE_EQ(thresholded_exponent(2, 0.5), 0.5);
}

TEST(Theorem2, NoSchemeBeatsTheBound) {
  for (const double rho : {0.0, 0.3, 0.5, 1.0})
    for (const int64_t d : {30, 1000}) {
      const auto memory = summarise_zipf_memory(10000000, 5, 2, {rho, std::max<int64_t>(1, d / 6)});
      EXPECT_GT(predicted_error(memory, d), minimax_lower_bound(2, d, 0.2)) << rho << " " << d;
    }
  // 6/pi^2 * 0.2 / (20 * 3 * 3) / 100
  EXPECT_NEAR(minimax_lower_bound(2, 99, 0.2), 6 / (M_PI * M_PI) * 0.2 / 180 / 100, 1e-12);
  EXPECT_THROW(minimax_lower_bound(1, 10, 0.2), UsageError);
  EXPECT_THROW(minimax_lower_bound(2, 10, 0), UsageError);
}

TEST(Proposition4, AddsBothRates) {
  EXPECT_DOUBLE_EQ(finite_data_rate(2, 10, 100), 0.1 + 0.1);
}

}  // namespace
}  // namespace tessera::theory
