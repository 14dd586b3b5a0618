#include "tessera/plan/population_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/gaussian_field.h"
#include "tessera/plan/parallel.h"

namespace tessera::theory {
namespace {

/// Equations (2), (4) and (5) word for word, in double, on the embeddings of `seed`.
double dense_error(const AssociationTask& task, const std::vector<float>& q, int64_t d,
                   uint64_t seed) {
  const std::vector<float> e = gaussian_rows(task.inputs(), d, seed);
  std::vector<float> u = gaussian_rows(task.outputs, d, seed, 1);
  for (int32_t y = 0; y < task.outputs; ++y) {
    double squares = 0;
    for (int64_t j = 0; j < d; ++j) squares += double{u[y * d + j]} * u[y * d + j];
    for (int64_t j = 0; j < d; ++j) u[y * d + j] /= static_cast<float>(std::sqrt(squares));
  }
  std::vector<double> w(d * d, 0.0);
  for (int64_t x = 0; x < task.inputs(); ++x)
    for (int64_t i = 0; i < d; ++i)
      for (int64_t j = 0; j < d; ++j)
        w[i * d + j] += double{q[x]} * u[task.output[x] * d + i] * e[x * d + j];
  double error = 0;
  for (int64_t x = 0; x < task.inputs(); ++x) {
    std::vector<double> scores(task.outputs, 0.0);
    for (int64_t i = 0; i < d; ++i) {
      double memory = 0;
      for (int64_t j = 0; j < d; ++j) memory += w[i * d + j] * e[x * d + j];
      for (int32_t y = 0; y < task.outputs; ++y) scores[y] += u[y * d + i] * memory;
    }
    const auto answer = std::max_element(scores.begin(), scores.end()) - scores.begin();
    if (answer != task.output[x]) error += task.law[x];
  }
  return error;
}

TEST(PopulationErrors, AgreeWithTheDenseMatrix) {
  const AssociationTask task = zipf_task(60, 5, 1.2);
  const std::vector<SimulatedMemory> memories = {
      {scheme_weights({.rho = 0}, task.law), {2, 7, 30}},
      {scheme_weights({.rho = 1}, task.law), {3, 100}},
      {scheme_weights({.rho = 0, .stored = 4}, task.law), {33}}};
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto errors = population_errors(task, memories, seed);
    for (size_t k = 0; k < memories.size(); ++k)
      for (size_t j = 0; j < memories[k].dimensions.size(); ++j)
        EXPECT_NEAR(errors[k][j],
                    dense_error(task, memories[k].weights, memories[k].dimensions[j], seed), 1e-12)
            << "seed " << seed << " memory " << k << " dimension " << memories[k].dimensions[j];
  }
}

TEST(PopulationErrors, FormingWAndAggregatingAgree) {
  // M = 40 outputs: d = 10 and 40 go through W, d = 41 does not.
  const AssociationTask task = zipf_task(80, 40, 0.7);
  const std::vector<SimulatedMemory> memories = {
      {scheme_weights({.rho = 0.3}, task.law), {10, 40, 41}}};
  const auto errors = population_errors(task, memories, 11);
  for (size_t j = 0; j < 3; ++j)
    EXPECT_NEAR(errors[0][j], dense_error(task, memories[0].weights, memories[0].dimensions[j], 11),
                1e-12);
}

TEST(PopulationErrors, SameNumbersForAnyNumberOfThreadsAndAnyBlocks) {
  // Large enough that the embeddings are drawn block by block.
  const AssociationTask task = zipf_task(70000, 5, 1.1);
  const std::vector<SimulatedMemory> memories = {
      {scheme_weights({.rho = 0.5}, task.law), {16, 130}}};
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto one = population_errors(task, memories, 3);
  omp_set_num_threads(3);
  const auto three = population_errors(task, memories, 3);
  const auto nested =
      parallel_runs(2, [&](int64_t) { return population_errors(task, memories, 3); });
  omp_set_num_threads(threads);
  EXPECT_EQ(one, three);
  EXPECT_EQ(one, nested[0]);
  EXPECT_EQ(one, nested[1]);
}

TEST(PopulationErrors, EdgesOfTheModel) {
  // One output: never wrong. Nothing but the first input stored, in a huge dimension: it is right.
  const AssociationTask one = zipf_task(10, 1, 2);
  EXPECT_EQ(population_errors(one, std::vector<SimulatedMemory>{{std::vector<float>(10, 1), {1}}},
                              0)[0][0],
            0.0);
  const AssociationTask single = zipf_task(1, 5, 2);
  EXPECT_EQ(population_errors(single, std::vector<SimulatedMemory>{{{1.0f}, {50}}}, 0)[0][0], 0.0);
  EXPECT_TRUE(population_errors(one, {}, 0).empty());
}

TEST(PopulationErrors, RefuseMismatchedWeightsAndDimensions) {
  const AssociationTask task = zipf_task(10, 5, 2);
  const auto run = [&](SimulatedMemory memory) {
    return population_errors(task, std::vector<SimulatedMemory>{std::move(memory)}, 0);
  };
  EXPECT_THROW(run({std::vector<float>(9, 1), {4}}), UsageError);
  EXPECT_THROW(run({std::vector<float>(10, 1), {0}}), UsageError);
  EXPECT_THROW(run({std::vector<float>(10, 1), {8, 4}}), UsageError);
}

// Figure 3, right, of Cabannes et al. 2024: N = 100, M = 5, alpha = 2, all data.
TEST(PopulationErrors, FrequencyAndThresholdedCurvesAreThePublishedOnes) {
  const AssociationTask task = zipf_task(100, 5, 2);
  const auto runs = parallel_runs(100, [&](int64_t run) {
    const std::vector<SimulatedMemory> memories = {
        {scheme_weights({.rho = 1}, task.law), {10, 100, 1000}},
        {scheme_weights({.rho = 0, .stored = 12}, task.law), {100}}};
    return population_errors(task, memories, run);
  });
  const double expected[] = {0.205, 0.103, 0.056, 0.034};
  for (int k = 0; k < 4; ++k) {
    std::vector<double> errors;
    for (const auto& run : runs) errors.push_back(k < 3 ? run[0][k] : run[1][0]);
    const Spread spread = spread_of(errors);
    EXPECT_NEAR(spread.mean, expected[k], 4.5 * spread.standard_error()) << k;
  }
}

TEST(GivenEmbeddings, IdentityMatrixWithSharedEmbeddingsIsNeverWrong) {
  // Equation (24): e_x = u_f(x) and W = I. Here W is the sum of u_y u_y^T over orthogonal u.
  const AssociationTask task = zipf_task(12, 3, 1);
  const std::vector<float> u = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  std::vector<float> e;
  for (const int32_t y : task.output) e.insert(e.end(), u.begin() + 3 * y, u.begin() + 3 * y + 3);
  EXPECT_EQ(population_error(task, std::vector<float>(12, 1.0f), e, u, 3), 0.0);
  EXPECT_THROW(population_error(task, std::vector<float>(11, 1.0f), e, u, 3), UsageError);
  std::vector<float> scores(36, 0.0f);
  // All scores equal: the first output is answered, so only its inputs are right.
  EXPECT_NEAR(population_error_of_scores(task, scores),
              1 - task.law[0] - task.law[3] - task.law[6] - task.law[9], 1e-12);
}

TEST(SharedMass, ByHand) {
  // Outputs 0, 1, 0, 1; stored are the first and the second input, one of each output.
  AssociationTask task{.law = {0.4, 0.3, 0.2, 0.1}, .output = {0, 1, 0, 1}, .outputs = 2};
  EXPECT_THAT(with_shared_mass(task, std::vector<float>{1, 1, 0, 0}).law,
              testing::Pointwise(testing::DoubleEq(), {0.35, 0.35, 0.15, 0.15}));
  // Both of output 0: no other input is read like one of theirs.
  EXPECT_THAT(with_shared_mass(task, std::vector<float>{1, 0, 1, 0}).law,
              testing::Pointwise(testing::DoubleEq(), {0.3, 0.2, 0.3, 0.2}));
  EXPECT_THROW(with_shared_mass(task, std::vector<float>(3, 1)), UsageError);
}

TEST(RandomDirections, HaveUnitLength) {
  const auto u = random_directions(10, 7, 3);
  for (int z = 0; z < 10; ++z) {
    double squares = 0;
    for (int j = 0; j < 7; ++j) squares += u[7 * z + j] * u[7 * z + j];
    EXPECT_NEAR(squares, 1, 1e-6);
  }
  EXPECT_THROW(random_directions(3, 0, 1), UsageError);
}

}  // namespace
}  // namespace tessera::theory
