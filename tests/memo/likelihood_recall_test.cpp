#include "tessera/memo/detail/likelihood_recall.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/statistics.h"

namespace tessera::memo {
namespace {

using Stored = LikelihoodRecall::Stored;

double mean_recall(const LikelihoodRecall& recall, const std::vector<Stored>& stored,
                   const std::vector<double>& noise) {
  constexpr int kRuns = 2000;
  double mean = 0;
  for (uint64_t run = 0; run < kRuns; ++run)
    mean += recall.recall(stored, noise, RandomStream(3, run)) / kRuns;
  return mean;
}

TEST(LikelihoodRecall, OneWindowAndTwoTokensByHand) {
  // log 1/4 + 1/2 v + g / s > log 3/4 - 1/2 v + g' / s, where v = 1 / s^2
  const double s = 0.8, expected = normal_cdf((1 / (s * s) - std::log(3)) * s / std::sqrt(2));
  EXPECT_NEAR(mean_recall(LikelihoodRecall({1, 3}), {{0, {1}}}, {s}), expected, 0.005);
}

TEST(LikelihoodRecall, ARivalOfAllWindowsMakesACoinToss) {
  EXPECT_NEAR(mean_recall(LikelihoodRecall({1, 1, 1}), {{0, {1, 1}}, {1, {1, 1}}}, {0.1, 0.1}), 0.5,
              0.02);
}

TEST(LikelihoodRecall, RivalsOfShorterWindowsMisleadWhereThereIsNoise) {
  const LikelihoodRecall recall({1, 9, 1});
  const Stored right = {0, {1, 1, 1}};
  const std::vector<Stored> with_rivals = {right, {1, {1, 1, 0}}, {2, {1, 0, 0}}};
  EXPECT_NEAR(mean_recall(recall, with_rivals, {0.05, 0.05, 0.05}), 1, 1e-9);
  const double alone = mean_recall(recall, {right}, {0.4, 0.4, 0.4});
  const double among_rivals = mean_recall(recall, with_rivals, {0.4, 0.4, 0.4});
  EXPECT_GT(alone, 0.98);
  EXPECT_LT(among_rivals, alone - 0.03);
  // No worse than the last window alone tells two tokens apart whose priors differ ninefold.
  EXPECT_GT(among_rivals, normal_cdf((1 / 0.16 - std::log(9)) * 0.4 / std::sqrt(2)) - 0.05);
}

TEST(LikelihoodRecall, TheSameRandomTheSameAnswer) {
  const LikelihoodRecall recall({1, 2, 3});
  const std::vector<Stored> stored = {{0, {1, 1}}, {1, {2, 0}}};
  const std::vector<double> noise = {0.5, 0.5};
  EXPECT_EQ(recall.recall(stored, noise, RandomStream(1)),
            recall.recall(stored, noise, RandomStream(1)));
}

TEST(LikelihoodRecall, AWindowThatIsNoisierCountsLess) {
  const LikelihoodRecall recall({1, 1});
  const std::vector<Stored> stored = {{0, {1, 0}}, {1, {0, 1}}};  // each window says another token
  const double right = mean_recall(recall, stored, {0.2, 1.0});
  EXPECT_GT(right, 0.9);
  EXPECT_LT(mean_recall(recall, stored, {1.0, 0.2}), right - 0.3);
}

}  // namespace
}  // namespace tessera::memo
