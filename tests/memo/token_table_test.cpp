#include "tessera/memo/detail/token_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tessera/base/random.h"

namespace tessera::memo {
namespace {

// Of 2^16 places, Phi(-0.5) = 0.30854 of them are below -1/2: 20220 at -1 and at 1, the rest at 0.
TEST(RoundedNormal, SharesOfTheNumbersAreThoseOfTheNormalLaw) {
  const RoundedNormal law(1, 1);
  EXPECT_DOUBLE_EQ(law.deviation(), std::sqrt(2 * 20220 / 65536.0));
  std::vector<int8_t> numbers(1 << 16);
  law.draw(5, 6, 0, 1 << 16, numbers.data());
  EXPECT_NEAR(std::accumulate(numbers.begin(), numbers.end(), 0.0), 0, 4 * std::sqrt(40440.0));
  EXPECT_NEAR(static_cast<double>(std::ranges::count(numbers, -1)), 20220, 4 * 118);
}

TEST(RoundedNormal, AWideLawKeepsItsScale) {
  EXPECT_NEAR(RoundedNormal(16, 63).deviation(), 16, 0.02);
  EXPECT_NEAR(RoundedNormal(2, 7).deviation(), std::sqrt(4 + 1.0 / 12), 0.005);
}

TEST(RoundedNormal, AStreamIsTheSameInAnyPieces) {
  const RoundedNormal law(16, 63);
  std::vector<int8_t> whole(100), part(50);
  law.draw(1, 2, 0, 100, whole.data());
  law.draw(1, 2, 48, 50, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 48));
  law.draw(1, 3, 48, 50, part.data());
  EXPECT_FALSE(std::equal(part.begin(), part.end(), whole.begin() + 48));
}

TEST(TokenTable, ScoresAreProductsWithItsRows) {
  RandomStream random(4);
  for (const int64_t d : {64, 128, 192, 1024}) {
    const int64_t V = 37;
    const TokenTable table(V, d, 9, 0);
    std::vector<float> values(2 * d), scores(2 * V);
    // Whole numbers up to 127 survive the rounding as they are.
    for (auto& value : values) value = static_cast<float>(random.below(255)) - 127;
    values[3] = 127;
    values[d] = -127;
    table.score(values, 2, std::vector<float*>{scores.data(), scores.data() + V});
    std::vector<int8_t> row(d);
    for (int64_t y = 0; y < V; ++y) {
      table.copy_row(static_cast<int32_t>(y), row.data());
      for (int64_t n = 0; n < 2; ++n) {
        float expected = 0;
        for (int64_t c = 0; c < d; ++c) expected += 2 * values[n * d + c] * row[c];
        EXPECT_EQ(scores[n * V + y], expected) << d << " " << y;
      }
    }
  }
}

TEST(TokenTable, RoundingTheReadMovesScoresLittle) {
  const int64_t d = 512, V = 200;
  const TokenTable table(V, d, 9, 0);
  RandomStream random(6);
  std::vector<float> value(d), scores(V);
  double squares = 0;
  for (auto& entry : value) {
    entry = static_cast<float>(random.normal());
    squares += entry * entry;
  }
  table.score(value, 1, std::vector<float*>{scores.data()});
  std::vector<int8_t> row(d);
  double error = 0;
  for (int64_t y = 0; y < V; ++y) {
    table.copy_row(static_cast<int32_t>(y), row.data());
    double exact = 0;
    for (int64_t c = 0; c < d; ++c) exact += value[c] * row[c];
    error += (scores[y] - exact) * (scores[y] - exact);
  }
  // Against the scores' own deviation, |v| times that of an entry of E.
  EXPECT_LT(std::sqrt(error / static_cast<double>(V)),
            0.01 * std::sqrt(squares) * table.deviation());
}

TEST(TokenTable, AReadOfNothingScoresNothing) {
  const TokenTable table(5, 64, 1, 0);
  std::vector<float> value(64, 0.0f), scores(5, 1.0f);
  table.score(value, 1, std::vector<float*>{scores.data()});
  EXPECT_EQ(scores, std::vector<float>(5, 0.0f));
}

}  // namespace
}  // namespace tessera::memo
