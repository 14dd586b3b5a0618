#include "tessera/theory/dimension_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace tessera::theory {
namespace {

TEST(MeanError, ByHand) {
  const auto [mean, standard_error] = mean_error({1, 2, 6});
  EXPECT_DOUBLE_EQ(mean, 3);
  EXPECT_DOUBLE_EQ(standard_error, std::sqrt((4 + 1 + 9) / 2.0 / 3));
  EXPECT_EQ(mean_error({0.5}), std::pair(0.5, 0.0));
}

TEST(SmallestDimension, IsTheFirstMultipleThatReachesTheError) {
  const auto error = [](int64_t d) {
    return std::pair(10.0 / static_cast<double>(d), 1.0 / static_cast<double>(d));
  };
  EXPECT_EQ(smallest_dimension(error, 0.11, 10), 100);
  EXPECT_EQ(smallest_dimension(error, 0.11, 64), 128);
  EXPECT_EQ(smallest_dimension(error, 100, 64), 64);
  EXPECT_EQ(smallest_dimension(error, 100, 1), 1);
  EXPECT_EQ(smallest_dimension(error, 1e-6, 1), 0);
  EXPECT_THROW(smallest_dimension(error, 0.1, 0), std::invalid_argument);
}

}  // namespace
}  // namespace tessera::theory
