#include "tessera/theory/ranked_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/theory/association_task.h"
#include "tessera/theory/bounds.h"

namespace tessera::theory {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

TEST(RankedLaw, IsTheLawItShortens) {
  const AssociationTask task = zipf_task(300000, 1, 1.4);
  const RankedLaw law = RankedLaw::zipf(300000, 1.4);
  EXPECT_EQ(law.inputs(), 300000);
  for (const double samples : {1.0, 100.0, 1e5})
    EXPECT_NEAR(law.unseen_mass(samples) / unseen_mass(task.law, samples), 1, 1e-5) << samples;
  double mass = 0;
  for (int x = 0; x < 50000; ++x) mass += task.law[x];
  EXPECT_NEAR(law.seen_mass(kUnlimited).first(50000), mass, 1e-6);
  EXPECT_NEAR(law.seen_mass(kUnlimited).first(1e9), 1, 1e-9);
  EXPECT_EQ(law.seen_mass(kUnlimited).first(0), 0);
}

TEST(RankedLaw, CountsByHand) {
  const RankedLaw law = RankedLaw::counted(std::vector<double>{1, 2, 0, 1});
  EXPECT_EQ(law.inputs(), 3);
  EXPECT_DOUBLE_EQ(law.seen_mass(kUnlimited).first(1), 0.5);
  EXPECT_DOUBLE_EQ(law.seen_mass(kUnlimited).first(2), 0.75);
  EXPECT_DOUBLE_EQ(law.unseen_mass(1), 0.25 + 2 * 0.25 * 0.75);
  // One sample shows the first input half of the time and the two others a quarter each: the one
  // input stored is whatever was shown.
  EXPECT_NEAR(law.seen_mass(1).first(1), 0.25 + 2 * 0.0625, 1e-12);
}

TEST(RankedLaw, OneInputIsAlwaysSeen) {
  const RankedLaw law = RankedLaw::zipf(1, 2);
  EXPECT_EQ(law.unseen_mass(1), 0);
  EXPECT_DOUBLE_EQ(law.seen_mass(1).first(1), 1);
}

TEST(RankedLaw, RefusesWhatMakesNoLaw) {
  EXPECT_THROW(RankedLaw::zipf(0, 2), std::invalid_argument);
  EXPECT_THROW(RankedLaw::zipf(10, 0), std::invalid_argument);
  EXPECT_THROW(RankedLaw::counted(std::vector<double>{0.0}), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::theory
