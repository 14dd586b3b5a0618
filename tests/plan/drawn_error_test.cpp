#include "tessera/plan/detail/drawn_error.h"

#include <gtest/gtest.h>

#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/association_task.h"
#include "tessera/plan/parallel.h"
#include "tessera/plan/planner.h"
#include "tessera/plan/population_error.h"

namespace tessera::theory {
namespace {

constexpr double kWholeLaw = std::numeric_limits<double>::infinity();

TEST(StoredMass, OfTheLawIsThatOfItsFirstInputs) {
  const AssociationTask task = zipf_task(300000, 1, 1.4);
  double mass = 0;
  for (int x = 0; x < 50000; ++x) mass += task.law[x];
  const StoredMass law(RankedLaw::zipf(300000, 1.4), kWholeLaw);
  EXPECT_NEAR(law.of(50000), mass, 1e-6);
  EXPECT_NEAR(law.of(1000000000), 1, 1e-9);
  EXPECT_EQ(law.of(0), 0);
  const StoredMass counts(RankedLaw::counted(std::vector<double>{1, 2, 0, 1}), kWholeLaw);
  EXPECT_DOUBLE_EQ(counts.of(1), 0.5);
  EXPECT_DOUBLE_EQ(counts.of(2), 0.75);
}

TEST(StoredMass, ByHand) {
  EXPECT_DOUBLE_EQ(StoredMass(RankedLaw::zipf(1, 2), 1).of(1), 1);  // the only input
  const RankedLaw law = RankedLaw::counted(std::vector<double>{3, 1});
  EXPECT_EQ(StoredMass(law, 0).of(2), 0);  // nothing was seen
  // With room for both an input is stored once it was seen.
  EXPECT_NEAR(StoredMass(law, 2).of(2), 0.75 * (1 - 0.0625) + 0.25 * (1 - 0.5625), 1e-12);
  EXPECT_THROW(StoredMass(law, -1), UsageError);
}

TEST(StoredMass, DependsOnTheSamplesOfAnInputHoweverManyThereAre) {
  // Two samples of each of alike inputs, half of which are stored.
  const auto mass_at = [](int64_t samples) {
    const RankedLaw law = RankedLaw::zipf(samples / 2, 1e-9);
    return StoredMass(law, static_cast<double>(samples)).of(samples / 4);
  };
  EXPECT_NEAR(mass_at(int64_t{1} << 50), mass_at(1 << 20), 1e-5);
}

TEST(StoredMass, ChancesAreThoseOfSingleInputs) {
  const RankedLaw law = RankedLaw::counted(std::vector<double>{3, 1});
  const auto chances = StoredMass(law, 2).chances(2);
  ASSERT_EQ(chances.size(), 2u);
  EXPECT_NEAR(chances[0].chance, 1 - 0.0625, 1e-12);
  EXPECT_NEAR(chances[1].chance, 1 - 0.5625, 1e-12);
  EXPECT_EQ(chances[1].probability, 0.25);
  const auto whole = StoredMass(law, kWholeLaw).chances(1);
  EXPECT_EQ(whole[0].chance, 1);
  EXPECT_EQ(whole[1].chance, 0);
}

TEST(StoredMass, IsThatOfSamplesSortedByCount) {
  struct Case {
    int64_t inputs;
    double alpha;
    int64_t samples, stored;
  };
  for (const Case& c :
       {Case{100, 2, 153, 5}, Case{10, 2, 44, 5}, Case{10, 1, 30, 2}, Case{1000, 1.5, 164, 5},
        Case{1000, 1.5, 2108, 35}, Case{1000, 1.5, 24187, 295}, Case{1000, 3, 782, 6},
        Case{3000, 0.5, 9000, 1000}, Case{50000, 1.2, 30000, 4000}}) {
    const AssociationTask task = zipf_task(c.inputs, 1, c.alpha);
    RandomStream random(5);
    std::vector<double> missing;
    for (int run = 0; run < 200; ++run) {
      const auto counts = sample_counts(task.law, c.samples, random);
      const auto weights = scheme_weights({.rho = 0, .stored = c.stored}, std::span(counts));
      double mass = 0;
      for (size_t x = weights.size(); x-- > 0;)
        if (weights[x] == 0) mass += task.law[x];
      missing.push_back(mass);
    }
    const Spread simulated = spread_of(missing);
    const StoredMass masses(RankedLaw::zipf(c.inputs, c.alpha), static_cast<double>(c.samples));
    EXPECT_NEAR(1 - masses.of(c.stored), simulated.mean,
                0.02 * simulated.mean + 3 * simulated.standard_error())
        << c.inputs << " inputs, alpha " << c.alpha << ", T " << c.samples << ", P " << c.stored;
  }
}

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
  EXPECT_NEAR(error.stored, stored_item_error(4, 12, 30, RivalScores::kIndependent), 1e-9);
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
  EXPECT_GT(many.stored, 1.1 * stored_item_error(10, 50, 60, RivalScores::kIndependent));
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
