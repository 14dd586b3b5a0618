#include "lab/theory/marginal_error.h"

#include <gtest/gtest.h>
#include <omp.h>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/error_predictor.h"
#include "tessera/plan/parallel.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

TEST(Predictor, ManyOutputsShareTheirGroupsInTheTail) {
  // 20 outputs and 200000 inputs: what is joined in the tail must not move the error.
  const AssociationTask task = zipf_task(200000, 20, 1.3);
  const auto q = scheme_weights({.rho = 1}, task.law);
  const double marginal = spread_of(parallel_runs(5, [&](int64_t run) {
                            return marginal_error(task, q, 500, run);
                          })).mean;
  EXPECT_NEAR(predicted_error(summarise_memory(task, q), 500) / marginal, 1, 0.05);
  EXPECT_NEAR(predicted_error(summarise_zipf_memory(200000, 20, 1.3, {.rho = 1}), 500) / marginal,
              1, 0.05);
}

TEST(MarginalError, HasTheMeanOfTheSimulation) {
  const AssociationTask task = zipf_task(200, 5, 1);
  const auto q = scheme_weights({.rho = 0.5}, task.law);
  const std::vector<SimulatedMemory> memory = {{q, {100}}};
  const Spread simulation = spread_of(
      parallel_runs(200, [&](int64_t run) { return population_errors(task, memory, run)[0][0]; }));
  const Spread marginal =
      spread_of(parallel_runs(200, [&](int64_t run) { return marginal_error(task, q, 100, run); }));
  EXPECT_NEAR(marginal.mean, simulation.mean,
              4 * (marginal.standard_error() + simulation.standard_error()));
}

TEST(MarginalError, SameNumbersForAnyNumberOfThreads) {
  const AssociationTask task = zipf_task(5000, 5, 1);
  const auto q = scheme_weights({.rho = 0.5}, task.law);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const double one = marginal_error(task, q, 300, 4);
  omp_set_num_threads(3);
  EXPECT_EQ(marginal_error(task, q, 300, 4), one);
  omp_set_num_threads(threads);
  EXPECT_THROW(marginal_error(task, q, 0, 4), UsageError);
}

}  // namespace
}  // namespace tessera::theory
