#include "tessera/base/smallest.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Smallest, IsFoundInARangeOrThereIsNone) {
  for (int64_t least = 3; least <= 40; ++least) {
    const auto reached = [=](int64_t number) { return number >= least; };
    EXPECT_EQ(smallest(2, 40, reached), least);
    EXPECT_EQ(smallest_up_to(3, 40, reached), least);
    EXPECT_EQ(smallest_up_to(1, least, reached), least) << "the last one that is allowed";
    EXPECT_EQ(smallest_up_to(1, least - 1, reached), std::nullopt);
  }
}

}  // namespace
}  // namespace tessera
