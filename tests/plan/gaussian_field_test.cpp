#include "tessera/plan/gaussian_field.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/random.h"

namespace tessera::theory {
namespace {

TEST(GaussianField, IsBoxMullerOfThePhiloxWords) {
  const uint64_t seed = 0x123456789abcdef0, stream = 5;
  std::vector<float> row(128);
  GaussianField(seed, stream).fill(1000003, 1, 0, 128, row.data(), 128);
  for (int tile = 0; tile < 2; ++tile) {
    for (int b = 0; b < 16; ++b) {
      const auto words =
          Philox(seed, stream)
              .block((uint64_t{1000003} << 24) + static_cast<uint64_t>(16 * tile + b));
      for (int pair = 0; pair < 2; ++pair) {
        const double radius = std::sqrt(-2 * std::log(words[2 * pair] * 0x1p-32 + 0x1p-34));
        const double angle = 2 * std::numbers::pi * words[2 * pair + 1] * 0x1p-32;
        // A float near u = 1 resolves the radius to 3e-4, elsewhere far better.
        EXPECT_NEAR(row[64 * tile + 32 * pair + b], radius * std::cos(angle), 1e-3);
        EXPECT_NEAR(row[64 * tile + 32 * pair + 16 + b], radius * std::sin(angle), 1e-3);
      }
    }
  }
}

TEST(GaussianField, BlocksAndPrefixesAreCutFromTheSameMatrix) {
  const GaussianField field(9);
  std::vector<float> whole(20 * 200), block(3 * 100), narrow(20 * 7);
  field.fill(0, 20, 0, 200, whole.data(), 200);
  field.fill(5, 3, 64, 100, block.data(), 100);
  field.fill(0, 20, 0, 7, narrow.data(), 7);
  for (int row = 0; row < 3; ++row)
    for (int j = 0; j < 100; ++j) EXPECT_EQ(block[row * 100 + j], whole[(row + 5) * 200 + 64 + j]);
  for (int row = 0; row < 20; ++row)
    for (int j = 0; j < 7; ++j) EXPECT_EQ(narrow[row * 7 + j], whole[row * 200 + j]);
}

TEST(GaussianField, HasTheSameBitsOnEveryInstructionSet) {
  uint32_t digest = 0;
  for (const float x : gaussian_rows(64, 200, 9, 2))
    digest = 31 * digest + std::bit_cast<uint32_t>(x);
  EXPECT_EQ(digest, 0xbe818ca5);
}

TEST(GaussianField, MomentsAndTailsAreNormal) {
  std::vector<float> draws(1 << 20);
  GaussianField(3).fill(0, 1024, 0, 1024, draws.data(), 1024);
  double mean = 0, second = 0, fourth = 0, beyond2 = 0, beyond4 = 0, neighbours = 0;
  const double n = draws.size();
  for (size_t i = 0; i < draws.size(); ++i) {
    const double x = draws[i];
    mean += x / n;
    second += x * x / n;
    fourth += x * x * x * x / n;
    beyond2 += (std::abs(x) > 2) / n;
    beyond4 += (std::abs(x) > 4) / n;
    if (i > 0) neighbours += x * draws[i - 1] / n;
  }
  EXPECT_NEAR(mean, 0, 0.005);  // five standard errors each
  EXPECT_NEAR(second, 1, 0.007);
  EXPECT_NEAR(fourth, 3, 0.05);
  EXPECT_NEAR(beyond2, std::erfc(2 / std::sqrt(2.0)), 0.001);
  EXPECT_NEAR(beyond4, std::erfc(4 / std::sqrt(2.0)), 4e-5);
  EXPECT_NEAR(neighbours, 0, 0.005);
}

TEST(GaussianField, StreamsAndSeedsDiffer) {
  float a[64], b[64], c[64];
  GaussianField(1, 0).fill(0, 1, 0, 64, a, 64);
  GaussianField(1, 1).fill(0, 1, 0, 64, b, 64);
  GaussianField(2, 0).fill(0, 1, 0, 64, c, 64);
  EXPECT_NE(a[0], b[0]);
  EXPECT_NE(a[0], c[0]);
}

TEST(GaussianField, RefusesColumnsInsideATileOrTooFarAndShortRows) {
  float out[64];
  EXPECT_THROW(GaussianField(1).fill(0, 1, 10, 4, out, 64), UsageError);
  EXPECT_THROW(GaussianField(1).fill(0, 1, 0, 65, out, 64), UsageError);
  EXPECT_THROW(GaussianField(1).fill(0, 1, 1 << 26, 64, out, 64), UsageError);  // of the next row
  EXPECT_NO_THROW(GaussianField(1).fill(0, 0, 0, 64, out, 64));
}

}  // namespace
}  // namespace tessera::theory
