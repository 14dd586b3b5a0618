#include "lab/theory/compensation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

double error_of(const AssociationTask& task, std::span<const double> found,
                std::span<const double> outputs, int64_t d) {
  const auto scores = compensated_scores(found, outputs, d);
  return population_error_of_scores(task, std::vector<float>(scores.begin(), scores.end()));
}

/// Section A.9.1's example: output 3 is stored so much that an input of output 1 finds more of it.
/// Where u_2, of which it finds something too, is close to u_1 and opposite to u_3, it is answered.
TEST(Compensation, ThreeOutputsByHand) {
  const AssociationTask task = {{1.0}, {0}, 3};
  const std::vector<double> found = {0.5, 0.3, 0.6};
  const std::vector<double> apart = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  EXPECT_THAT(compensated_scores(found, apart, 3), ElementsAre(0.5, 0.3, 0.6));
  EXPECT_EQ(error_of(task, found, apart, 3), 1);
  const std::vector<double> close = {1, 0, 0, 0.6, 0.8, 0, 0, -0.8, 0.6};
  // <u_1, u_2> = 0.6, <u_2, u_3> = -0.64, <u_1, u_3> = 0
  EXPECT_THAT(compensated_scores(found, close, 3),
              ElementsAre(DoubleNear(0.5 + 0.3 * 0.6, 1e-15),
                          DoubleNear(0.3 + 0.5 * 0.6 - 0.6 * 0.64, 1e-15),
                          DoubleNear(0.6 - 0.3 * 0.64, 1e-15)));
  EXPECT_EQ(error_of(task, found, close, 3), 0);
}

/// Equation (54) is the memory of equation (4): with the same embeddings it errs as often.
TEST(Compensation, ScoresAreThoseOfTheMemory) {
  const AssociationTask task = zipf_task(20, 4, 1);
  constexpr int64_t kD = 6;
  const auto weights = scheme_weights({.rho = 0.5, .stored = 15}, task.law);
  const std::vector<SimulatedMemory> memory = {{weights, {kD}}};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto u = random_directions(4, kD, seed, kOutputStream);
    EXPECT_EQ(error_of(task, found_outputs(task, weights, kD, seed),
                       std::vector<double>(u.begin(), u.end()), kD),
              population_errors(task, memory, seed)[0][0]);
  }
}

TEST(Compensation, SimplexHasEqualAngles) {
  for (const int64_t count : {2, 3, 5, 9})
    for (const int64_t d : {count - 1, count + 2}) {
      const auto u = simplex_outputs(count, d);
      for (int64_t a = 0; a < count; ++a)
        for (int64_t b = 0; b < count; ++b) {
          double product = 0;
          for (int64_t j = 0; j < d; ++j) product += u[a * d + j] * u[b * d + j];
          EXPECT_NEAR(product, a == b ? 1 : -1.0 / static_cast<double>(count - 1), 1e-12);
        }
    }
  EXPECT_THROW(simplex_outputs(5, 3), UsageError);
  EXPECT_THROW(simplex_outputs(1, 3), UsageError);
}

TEST(Compensation, GradientIsThatOfTheLoss) {
  const AssociationTask task = zipf_task(12, 3, 1);
  constexpr int64_t kD = 4;
  const std::vector<float> weights(12, 1);
  const auto found = found_outputs(task, weights, kD, 1);
  const auto directions = random_directions(3, kD, 2);
  std::vector<double> u(directions.begin(), directions.end());
  const OutputLoss loss = output_loss(task, found, u, kD, 5);
  std::vector<double> numerical;
  for (double& entry : u) {
    constexpr double kStep = 1e-6;
    const double before = entry;
    entry = before + kStep;
    const double above = output_loss(task, found, u, kD, 5).nats;
    entry = before - kStep;
    const double below = output_loss(task, found, u, kD, 5).nats;
    entry = before;
    numerical.push_back((above - below) / (2 * kStep));
  }
  EXPECT_THAT(loss.gradient, Pointwise(DoubleNear(1e-7), numerical));
}

TEST(Compensation, DescentFindsOutputsThatErrLess) {
  const AssociationTask task = zipf_task(50, 5, 1);
  constexpr int64_t kD = 8;
  const std::vector<float> weights(50, 1);
  const auto found = found_outputs(task, weights, kD, 1);
  const auto start = simplex_outputs(5, kD);
  const auto learned = compensating_outputs(task, found, start, kD, 300);
  EXPECT_LT(error_of(task, found, learned, kD), error_of(task, found, start, kD));
  for (int64_t y = 0; y < 5; ++y) {
    double length = 0;
    for (int64_t j = 0; j < kD; ++j) length += learned[y * kD + j] * learned[y * kD + j];
    EXPECT_NEAR(length, 1, 1e-12);
  }
  EXPECT_EQ(compensating_outputs(task, found, start, kD, 0), start);
}

TEST(Compensation, RefusesWhatDoesNotFit) {
  const AssociationTask task = zipf_task(4, 2, 1);
  EXPECT_THROW(found_outputs(task, std::vector<float>(3, 1), 2, 1), UsageError);
  EXPECT_THROW(found_outputs(task, std::vector<float>(4, 1), 0, 1), UsageError);
}

}  // namespace
}  // namespace tessera::theory
