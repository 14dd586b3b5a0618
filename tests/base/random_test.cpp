#include "tessera/base/random.h"

#include <gtest/gtest.h>

#include <set>

#include "tessera/base/error.h"

namespace tessera {
namespace {

// Known-answer vectors of the Random123 distribution for philox4x32-10.
TEST(Philox, KnownAnswers) {
  const auto zeros = Philox(0, 0).block(0);
  EXPECT_EQ(zeros, (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const auto ones = Philox(UINT64_MAX, UINT64_MAX).block(UINT64_MAX);
  EXPECT_EQ(ones, (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(0, 0).number(0), 0xe169c58d'6627e8d5u);
  EXPECT_EQ(RandomStream(0, 0)(), Philox(0, 0).number(0));
}

TEST(RandomStream, SameSeedSameNumbers) {
  RandomStream a(7, 3), b(7, 3), other(7, 4);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a(), b());
  EXPECT_NE(RandomStream(7, 3)(), other());
}

TEST(RandomStream, MomentsAreThoseOfTheLaw) {
  RandomStream random(1);
  constexpr int kDraws = 200000;
  double mean = 0, square = 0, uniform = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    mean += x / kDraws;
    square += x * x / kDraws;
    const double u = random.uniform();
    ASSERT_TRUE(u >= 0.0 && u < 1.0);
    uniform += u / kDraws;
  }
  EXPECT_NEAR(mean, 0.0, 0.01);  // 4.5 standard errors
  EXPECT_NEAR(square, 1.0, 0.015);
  EXPECT_NEAR(uniform, 0.5, 0.003);
}

TEST(RunSeed, NeighbouringSeedsShareNoRun) {
  std::set<uint64_t> seeds;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    for (int64_t run = 0; run < 50; ++run) seeds.insert(run_seed(seed, run));
  EXPECT_EQ(seeds.size(), 20u * 50u);
  EXPECT_EQ(run_seed(7, 0), 7u);
  EXPECT_EQ(run_seed(7, 3), run_seed(7, 3));
}

TEST(RandomStream, BelowStaysBelowAndRefusesZero) {
  RandomStream random(2);
  std::array<int, 7> seen{};
  for (int i = 0; i < 7000; ++i) ++seen.at(random.below(7));
  for (int count : seen) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(random.below(1), 0u);
  EXPECT_THROW(random.below(0), UsageError);
}

}  // namespace
}  // namespace tessera
