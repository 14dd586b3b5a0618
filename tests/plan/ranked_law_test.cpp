#include "tessera/plan/ranked_law.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/plan/association_task.h"

namespace tessera::theory {
namespace {

TEST(RankedLaw, IsTheLawItShortens) {
  const AssociationTask task = zipf_task(300000, 1, 1.4);
  const RankedLaw law = RankedLaw::zipf(300000, 1.4);
  EXPECT_EQ(law.inputs(), 300000);
  for (const double samples : {1.0, 100.0, 1e5}) {
    double unseen = 0;
    for (const double p : task.law) unseen += p * std::exp(samples * std::log1p(-p));
    EXPECT_NEAR(law.unseen_mass(samples) / unseen, 1, 1e-5) << samples;
  }
}

TEST(RankedLaw, CountsByHand) {
  const RankedLaw law = RankedLaw::counted(std::vector<double>{1, 2, 0, 1});
  EXPECT_EQ(law.inputs(), 3);
  EXPECT_DOUBLE_EQ(law.unseen_mass(1), 0.25 + 2 * 0.25 * 0.75);
}

TEST(RankedLaw, OneInputIsAlwaysSeen) {
  const RankedLaw law = RankedLaw::zipf(1, 2);
  EXPECT_EQ(law.unseen_mass(1), 0);
}

TEST(RankedLaw, RefusesWhatMakesNoLaw) {
  EXPECT_THROW(RankedLaw::zipf(0, 2), UsageError);
  EXPECT_THROW(RankedLaw::zipf(10, 0), UsageError);
  EXPECT_THROW(RankedLaw::counted(std::vector<double>{0.0}), UsageError);
}

}  // namespace
}  // namespace tessera::theory
