#include "tessera/base/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace tessera {
namespace {

TEST(NumberFrom, IsAllOfTheText) {
  EXPECT_EQ(number_from<int64_t>("-12"), -12);
  EXPECT_EQ(number_from<uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(number_from<double>("2.5e1"), 25);
  EXPECT_TRUE(std::isinf(number_from<double>("-inf").value()));
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "1.5", "9223372036854775808"})
    EXPECT_EQ(number_from<int64_t>(text), std::nullopt) << text;
  EXPECT_EQ(number_from<uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(number_from<double>("1e999"), std::nullopt);
}

TEST(Counted, OneIsNotSeveral) {
  EXPECT_EQ(counted(0, "document"), "0 documents");
  EXPECT_EQ(counted(1, "document"), "1 document");
  EXPECT_EQ(counted(2, "document"), "2 documents");
}

}  // namespace
}  // namespace tessera
