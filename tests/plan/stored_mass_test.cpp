#include "tessera/plan/detail/stored_mass.h"

#include <gtest/gtest.h>

#include <limits>

#include "tessera/base/error.h"
#include "tessera/base/statistics.h"
#include "tessera/plan/association_task.h"

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

}  // namespace
}  // namespace tessera::theory
