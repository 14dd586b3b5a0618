#include "tessera/plan/detail/drawn_error.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/parallel.h"
#include "tessera/plan/planner.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

/// The error of the inputs from `first` up to `end`, each as probable as another, in runs whose
/// memory keeps the inputs with weight 1.
Spread simulated(std::vector<float> weights, int32_t outputs, int64_t dimension, size_t first,
                 size_t end) {
  AssociationTask task{.law = std::vector<double>(weights.size(), 0.0),
                       .output = std::vector<int32_t>(weights.size()),
                       .outputs = outputs};
  for (size_t x = 0; x < weights.size(); ++x) {
    task.output[x] = static_cast<int32_t>(x) % outputs;
    if (x >= first && x < end) task.law[x] = 1 / static_cast<double>(end - first);
  }
  const std::vector<SimulatedMemory> memory = {{std::move(weights), {dimension}}};
  return spread_of(parallel_runs(
      20000, [&](int64_t run) { return population_errors(task, memory, run)[0][0]; }));
}

TEST(DrawnError, OutputsWithNothingStoredAreSeldomAnswered) {
  // Three of seven inputs are stored, for sure; two of five outputs have none of them.
  const std::vector<StoredChance> chances = {{3, 0.2, 1}, {4, 0.1, 0}};
  const DrawnError error = drawn_error(chances, 5, 20);
  const std::vector<float> weights = {1, 1, 1, 0, 0, 0, 0};
  const Spread none = simulated(weights, 5, 20, 3, 5), one = simulated(weights, 5, 20, 5, 7);
  EXPECT_GT(none.mean, 0.9);
  EXPECT_LT(one.mean, 0.75);
  EXPECT_NEAR(error.not_stored, (none.mean + one.mean) / 2, 0.01);
  EXPECT_NEAR(error.stored, simulated(weights, 5, 20, 0, 3).mean, 2e-4);
}

TEST(DrawnError, OfBalancedOutputsIsThatOfAStoredItem) {
  const DrawnError error = drawn_error(std::vector<StoredChance>{{12, 1.0 / 12, 1}}, 4, 30);
  EXPECT_NEAR(error.stored,
              stored_item_error(OutputLaw::balanced(4), 12, 30, RivalScores::kIndependent), 1e-9);
  EXPECT_EQ(error.not_stored, 0);
}

TEST(DrawnError, IsTheMeanOverWhatIsStored) {
  // One of two outputs has an input that is stored half the time: the mean over both memories.
  const std::vector<StoredChance> chances = {{1, 0.5, 1}, {1, 0.5, 0.5}};
  const double d = 10;
  const double both = drawn_error(std::vector<StoredChance>{{2, 0.5, 1}}, 2, d).stored;
  const DrawnError alone = drawn_error(std::vector<StoredChance>{{1, 0.5, 1}, {1, 0.5, 0}}, 2, d);
  const DrawnError error = drawn_error(chances, 2, d);
  EXPECT_NEAR(error.not_stored, alone.not_stored, 1e-9);
  // Probabilities 0.5 of the first input, 0.25 of the second where it is stored.
  EXPECT_NEAR(error.stored, (0.5 * (both + alone.stored) / 2 + 0.25 * both) / 0.75, 0.002);
}

TEST(DrawnError, CountsLaterRanks) {
  // A million inputs, of which 50 are stored, any of them: as many as a Poisson law says an output.
  const DrawnError many = drawn_error(std::vector<StoredChance>{{1e6, 1e-6, 5e-5}}, 10, 60);
  const DrawnError few = drawn_error(std::vector<StoredChance>{{10000, 1e-4, 5e-3}}, 10, 60);
  EXPECT_NEAR(many.stored / few.stored, 1, 0.01);
  EXPECT_NEAR(many.not_stored, few.not_stored, 1e-3);
  EXPECT_GT(many.stored,
            1.1 * stored_item_error(OutputLaw::balanced(10), 50, 60, RivalScores::kIndependent));
}

TEST(DrawnError, OfNothingAndOfOneOutput) {
  EXPECT_NEAR(drawn_error(std::vector<StoredChance>{{8, 0.125, 0}}, 4, 10).not_stored, 0.75, 1e-9);
  const DrawnError sure = drawn_error(std::vector<StoredChance>{{8, 0.125, 0.5}}, 1, 10);
  EXPECT_NEAR(sure.stored, 0, 1e-9);
  EXPECT_NEAR(sure.not_stored, 0, 1e-9);
  EXPECT_THROW(drawn_error({}, 0, 10), UsageError);
  EXPECT_THROW(drawn_error({}, 4, 1), UsageError);
}

}  // namespace
}  // namespace tessera::theory
