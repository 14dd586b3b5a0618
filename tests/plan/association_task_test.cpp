#include "tessera/plan/association_task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tessera/base/error.h"

namespace tessera::theory {
namespace {

TEST(ZipfTask, ThreeInputsByHand) {
  const AssociationTask task = zipf_task(3, 2, 1.0);
  // 1 + 1/2 + 1/3 = 11/6
  EXPECT_NEAR(task.law[0], 6.0 / 11, 1e-15);
  EXPECT_NEAR(task.law[1], 3.0 / 11, 1e-15);
  EXPECT_NEAR(task.law[2], 2.0 / 11, 1e-15);
  EXPECT_EQ(task.output, (std::vector<int32_t>{0, 1, 0}));
}

TEST(ZipfTask, RefusesWhatMakesNoLaw) {
  EXPECT_THROW(zipf_task(0, 5, 2), UsageError);
  EXPECT_THROW(zipf_task(10, 0, 2), UsageError);
  EXPECT_THROW(zipf_task(10, 5, 0), UsageError);
  EXPECT_THROW(zipf_task(10, 5, -1), UsageError);
  EXPECT_THROW(zipf_task(10, 5, NAN), UsageError);
}

TEST(CountedTask, SortsAndDropsZeros) {
  const std::vector<double> counts = {1, 0, 5, 2};
  const AssociationTask task = counted_task(counts, 2);
  EXPECT_EQ(task.law, (std::vector<double>{5.0 / 8, 2.0 / 8, 1.0 / 8}));
  EXPECT_EQ(task.output, (std::vector<int32_t>{0, 1, 0}));
  EXPECT_THROW(counted_task(std::vector<double>{0, 0}, 2), UsageError);
  EXPECT_THROW(counted_task(std::vector<double>{1, -1}, 2), UsageError);
  EXPECT_THROW(counted_task(std::vector<double>{1}, 0), UsageError);
}

TEST(SampleCounts, AddUpAndFollowTheLaw) {
  const AssociationTask task = zipf_task(20, 5, 1.5);
  RandomStream random(4);
  const auto counts = sample_counts(task.law, 1000000, random);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), 1000000);
  for (size_t x = 0; x < counts.size(); ++x) {
    const double expected = 1e6 * task.law[x];
    EXPECT_NEAR(counts[x], expected, 5 * std::sqrt(expected)) << x;
  }
  const auto none = sample_counts(task.law, 0, random);
  EXPECT_EQ(std::accumulate(none.begin(), none.end(), int64_t{0}), 0);
  EXPECT_THROW(sample_counts(task.law, -1, random), UsageError);
}

TEST(AliasTable, FollowsTheLaw) {
  const AssociationTask task = zipf_task(7, 5, 1.0);
  const AliasTable table(task.law);
  RandomStream random(8);
  std::vector<double> counts(7, 0.0);
  for (int i = 0; i < 200000; ++i) ++counts.at(table.draw(random));
  for (size_t x = 0; x < 7; ++x)
    EXPECT_NEAR(counts[x], 2e5 * task.law[x], 5 * std::sqrt(2e5 * task.law[x])) << x;
  EXPECT_EQ(AliasTable(std::vector<double>{2.0}).draw(random), 0);
  EXPECT_THROW(AliasTable(std::vector<double>{0.0}), UsageError);
}

TEST(ClassEnergies, AreSumsOfSquaredWeightsByOutput) {
  const AssociationTask task{.law = {0.5, 0.3, 0.2}, .output = {0, 1, 0}, .outputs = 2};
  EXPECT_EQ(class_energies(task, std::vector<float>{2, 1, 0.5f}), (std::vector<double>{4.25, 1}));
  EXPECT_THROW(class_energies(task, std::vector<float>{2, 1}), UsageError);
}

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
  EXPECT_DOUBLE_EQ(law.unseen_mass(0), 1.0);
}

TEST(PowerSum, IsExactAlsoWhereTheExponentIsNearOne) {
  EXPECT_NEAR(power_sum(10'001, 20'001, 2) / (1 / 10'000.5 - 1 / 20'000.5), 1, 1e-12);
  EXPECT_NEAR(power_sum(3, 5, 0), 2, 1e-12);
  const double logarithm = std::log(1'009'999.5 / 999'999.5);
  EXPECT_DOUBLE_EQ(power_sum(1'000'000, 1'010'000, 1), logarithm);
  for (const double off : {1e-15, -1e-14, 1e-12, -1e-9})
    EXPECT_NEAR(power_sum(1'000'000, 1'010'000, 1 + off) / logarithm, 1, 1e-7) << off;
}

TEST(RankedLaw, OneInputIsAlwaysSeen) {
  const RankedLaw law = RankedLaw::zipf(1, 2);
  EXPECT_EQ(law.unseen_mass(1), 0);
  EXPECT_EQ(law.unseen_mass(0), 1);  // but by no sample
}

TEST(RankedLaw, RefusesWhatMakesNoLaw) {
  EXPECT_THROW(RankedLaw::zipf(0, 2), UsageError);
  EXPECT_THROW(RankedLaw::zipf(10, 0), UsageError);
  EXPECT_THROW(RankedLaw::counted(std::vector<double>{0.0}), UsageError);
}

using Weights = std::vector<float>;

TEST(MemoryScheme, FromTheTrueLaw) {
  const std::vector<double> law = {0.5, 0.25, 0.125, 0.125};
  EXPECT_EQ(scheme_weights({.rho = 0}, law), (Weights{1, 1, 1, 1}));
  EXPECT_EQ(scheme_weights({.rho = 1}, law), (Weights{1, 0.5f, 0.25f, 0.25f}));
  EXPECT_EQ(scheme_weights({.rho = 2, .stored = 2}, law), (Weights{1, 0.25f, 0, 0}));
}

TEST(MemoryScheme, FromCountsForgetsTheUnseenAndBreaksTiesByIndex) {
  const std::vector<int64_t> counts = {2, 0, 4, 2, 1};
  EXPECT_EQ(scheme_weights({.rho = 0}, counts), (Weights{1, 0, 1, 1, 1}));
  EXPECT_EQ(scheme_weights({.rho = 1}, counts), (Weights{0.5f, 0, 1, 0.5f, 0.25f}));
  EXPECT_EQ(scheme_weights({.rho = 0, .stored = 2}, counts), (Weights{1, 0, 1, 0, 0}));
  EXPECT_EQ(scheme_weights({.rho = 0, .stored = 5}, counts), (Weights{1, 0, 1, 1, 1}));
}

TEST(MemoryScheme, RefusesMoreThanThereIs) {
  const std::vector<double> law = {0.75, 0.25};
  EXPECT_THROW(scheme_weights({.rho = 0, .stored = 3}, law), UsageError);
  EXPECT_THROW(scheme_weights({.rho = 0, .stored = 0}, law), UsageError);
  EXPECT_THROW(scheme_weights({.rho = -0.5}, law), UsageError);
}

}  // namespace
}  // namespace tessera::theory
