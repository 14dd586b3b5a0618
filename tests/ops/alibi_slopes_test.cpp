#include "tessera/ops/alibi_slopes.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

std::vector<double> exponents(int64_t heads) {
  const at::Tensor slopes = alibi_slopes(heads).to(at::kDouble).log2();
  return {slopes.data_ptr<double>(), slopes.data_ptr<double>() + slopes.numel()};
}

void expect_exponents(int64_t heads, const std::vector<double>& expected) {
  const auto actual = exponents(heads);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t h = 0; h < expected.size(); ++h) EXPECT_NEAR(actual[h], expected[h], 1e-6) << h;
}

TEST(AlibiSlopes, ArePublishedForPowersOfTwo) {
  expect_exponents(1, {-8});
  expect_exponents(8, {-1, -2, -3, -4, -5, -6, -7, -8});  // the paper's example
  expect_exponents(16, {-0.5, -1, -1.5, -2, -2.5, -3, -3.5, -4, -4.5, -5, -5.5, -6, -6.5, -7, -7.5,
                        -8});  // and its second one
}

TEST(AlibiSlopes, OfOtherNumbersTakeEveryOtherSlopeOfTheNextSeries) {
  expect_exponents(3, {-4, -8, -2});
  expect_exponents(6, {-2, -4, -6, -8, -1, -3});
  expect_exponents(12, {-1, -2, -3, -4, -5, -6, -7, -8, -0.5, -1.5, -2.5, -3.5});
}

/// get_slopes of the authors' code (ofirpress/attention_with_linear_biases), word for word.
std::vector<double> slopes_of_the_authors(int64_t n) {
  const auto power_of_2 = [](int64_t n) {
    const double start = std::pow(2, -std::pow(2, -(std::log2(n) - 3)));
    std::vector<double> slopes;
    for (int64_t i = 0; i < n; ++i) slopes.push_back(start * std::pow(start, i));
    return slopes;
  };
  if (std::log2(n) == std::floor(std::log2(n))) return power_of_2(n);
  const auto closest = static_cast<int64_t>(std::pow(2, std::floor(std::log2(n))));
  std::vector<double> slopes = power_of_2(closest);
  const std::vector<double> next = slopes_of_the_authors(2 * closest);
  for (int64_t i = 0; i < n - closest; ++i) slopes.push_back(next[2 * i]);
  return slopes;
}

TEST(AlibiSlopes, AreTheAuthorsForEveryNumberOfHeads) {
  for (int64_t heads = 1; heads <= 70; ++heads) {
    const at::Tensor expected = at::tensor(slopes_of_the_authors(heads), at::kDouble);
    EXPECT_LT(test::relative_error(alibi_slopes(heads).to(at::kDouble), expected), 1e-6) << heads;
  }
}

TEST(AlibiSlopes, RefuseNoHeads) {
  EXPECT_THROW(alibi_slopes(0), UsageError);
  EXPECT_THROW(alibi_slopes(-2), UsageError);
}

}  // namespace
}  // namespace tessera::ops
