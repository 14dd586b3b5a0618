#include "tessera/memo/text_reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/memo/window_scores.h"

namespace tessera::memo {
namespace {

using test::scores_of;

TEST(ByScore, TakesTheLargestSum) {
  const NextToken next = by_score(scores_of({4, 16}, {0.5f, 1.25f, 0, 1, 0.5f, 0}), 0.25);
  EXPECT_EQ(next.token, 1);
  EXPECT_DOUBLE_EQ(next.score, 1.75);
  EXPECT_TRUE(next.recalled);
  EXPECT_EQ(next.matched_length, 16);
  EXPECT_EQ(next.window_scores, (std::vector<float>{1.25f, 0.5f}));
  // exp((s - 1) / (1/16)) / 3 for the tokens' sums 1.5, 1.75 and 0, and 1 + their sum
  const double a = std::exp(8.0) / 3, b = std::exp(12.0) / 3, c = std::exp(-16.0) / 3;
  EXPECT_NEAR(next.probability, (b + 1.0 / 3) / (1 + a + b + c), 1e-12);
}

TEST(ByScore, AbstainsBelowTheLargestNoise) {
  // sqrt(2 * 1 * ln 3) = 1.48
  EXPECT_FALSE(by_score(scores_of({4}, {0, 1.4f, 0}), 1).recalled);
  EXPECT_TRUE(by_score(scores_of({4}, {0, 1.5f, 0}), 1).recalled);
  const NextToken nothing = by_score(WindowScores({}, 3, {}), 0);
  EXPECT_FALSE(nothing.recalled);
  EXPECT_EQ(nothing.matched_length, 0);
  EXPECT_NEAR(nothing.probability, 1.0 / 3, 1e-12);
  EXPECT_FALSE(by_score(scores_of({4}, {0, 0, 0}), 0).recalled);
}

}  // namespace
}  // namespace tessera::memo
