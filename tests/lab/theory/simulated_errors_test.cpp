#include "lab/theory/simulated_errors.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lab/theory/associative_model.h"
#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/error_predictor.h"
#include "tessera/plan/parallel.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

/// The largest |<u_z, u_z'>| of `count` unit vectors of d numbers, z != z'.
float coherence(const std::vector<float>& u, int64_t count, int64_t d) {
  std::vector<float> gram = gram_matrix(u, count, d);
  for (int64_t z = 0; z < count; ++z) gram[z * count + z] = 0;
  const auto [least, most] = std::ranges::minmax(gram);
  return std::max(most, -least);
}

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

TEST(GeneralWeights, PlainIsEquationFour) {
  const AssociationTask task = zipf_task(300, 7, 1.2);
  for (const int64_t d : {8, 40}) {
    const std::vector<SimulatedMemory> all = {{std::vector<float>(300, 1.0f), {d}}};
    EXPECT_NEAR(general_weights_error(task, OutputWeights::kPlain, d, 5),
                population_errors(task, all, 5)[0][0], 1e-12)
        << d;
  }
}

TEST(GeneralWeights, DualOutputsDoNotAnswerForEachOther) {
  // As many dimensions as inputs and outputs: u overlap, so the plain sum errs more often.
  const AssociationTask task = zipf_task(64, 64, 0.5);
  double plain = 0, centred = 0, dual = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    plain += general_weights_error(task, OutputWeights::kPlain, 64, seed);
    centred += general_weights_error(task, OutputWeights::kCentred, 64, seed);
    dual += general_weights_error(task, OutputWeights::kDual, 64, seed);
  }
  EXPECT_LT(dual, 0.9 * plain);
  EXPECT_LE(centred, plain);
}

TEST(GeneralWeights, OneInputIsReadRight) {
  const AssociationTask task = zipf_task(1, 3, 1);
  for (const OutputWeights weights :
       {OutputWeights::kPlain, OutputWeights::kCentred, OutputWeights::kDual})
    EXPECT_EQ(general_weights_error(task, weights, 4, 1), 0);
}

TEST(GeneralWeights, RefuseWhatHasNoDualVectors) {
  const AssociationTask task = zipf_task(10, 5, 1);
  EXPECT_THROW(general_weights_error(task, OutputWeights::kDual, 4, 1), UsageError);
  EXPECT_THROW(general_weights_error(task, OutputWeights::kPlain, 0, 1), UsageError);
}

TEST(CappedWeights, KeepTheFirstOfEachOutput) {
  AssociationTask task = zipf_task(5, 2, 1);
  task.output = {0, 0, 1, 0, 1};
  EXPECT_EQ(capped_weights(task, 1), (std::vector<float>{1, 0, 1, 0, 0}));
  EXPECT_EQ(capped_weights(task, 2), (std::vector<float>{1, 1, 1, 0, 1}));
  EXPECT_EQ(capped_weights(task, 0), std::vector<float>(5, 0.0f));
}

TEST(Lemma1, RandomDirectionsReachTheCount) {
  // exp(d eta^2 / 4) vectors: the union bound proves existence; ordinary draws already do it.
  for (const int64_t d : {256, 512}) {
    const double eta = 0.3;
    const auto count = static_cast<int64_t>(quasi_orthogonal_count(d, eta));
    EXPECT_GT(count, 200);
    const int64_t tested = std::min<int64_t>(count, 3000);
    EXPECT_LE(coherence(random_directions(tested, d, 1), tested, d), eta) << d;
  }
  EXPECT_NEAR(quasi_orthogonal_count(100, 0.2), std::exp(1.0), 1e-9);
}

TEST(RectifiedLookup, HoldsFarMoreThanDimensions) {
  const AssociationTask task = zipf_task(2000, 5, 2);
  // 2000 associations in 64 dimensions: no outer-product memory could.
  EXPECT_LT(rectified_lookup_error(task, 2000, 64, 0.6, 1), 1e-5);
  // Only ten stored: the rest is guessed.
  double rest = 0;
  for (int x = 10; x < 2000; ++x) rest += task.law[x];
  EXPECT_NEAR(rectified_lookup_error(task, 10, 64, 0.6, 1), rest * 0.8, rest * 0.2);
  EXPECT_THROW(rectified_lookup_error(task, 2001, 8, 0.5, 1), UsageError);
  EXPECT_THROW(rectified_lookup_error(task, 0, 8, 0.5, 1), UsageError);
}

TEST(Proposition5, ErrorIsTheMassOfTheOutputsLeftOut) {
  // Four outputs with 0.4, 0.3, 0.2 and 0.1 of the mass, two inputs each.
  AssociationTask task{.law = {.2, .2, .15, .15, .1, .1, .05, .05},
                       .output = {2, 2, 0, 0, 3, 3, 1, 1},
                       .outputs = 4};
  EXPECT_NEAR(unstored_output_mass(task, 2), 0.3, 1e-12);
  EXPECT_NEAR(merged_embeddings_error(task, 2, 200, 7), 0.3, 1e-12);
  EXPECT_NEAR(merged_embeddings_error(task, 4, 200, 7), 0.0, 1e-12);
  EXPECT_NEAR(merged_embeddings_error(task, 0, 200, 7), 1.0, 1e-12);
  EXPECT_THROW(merged_embeddings_error(task, 5, 200, 7), UsageError);
}

TEST(Proposition5, FollowsTheLawOfTheOutputs) {
  // 300 outputs share 30000 inputs: 100 dimensions hold them all, where Proposition 3 has none
  // left.
  const AssociationTask task = zipf_task(30000, 300, 1.2);
  EXPECT_EQ(merged_embeddings_error(task, 300, 100, 2), 0.0);
}

}  // namespace
}  // namespace tessera::theory
