#include "tessera/base/suggestion.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Suggestion, NamesTheNearest) {
  const std::vector<std::string> known = {"layers", "heads", "channels"};
  EXPECT_EQ(suggestion("haeds", known), "; did you mean 'heads'?");
  EXPECT_EQ(suggestion("head", known), "; did you mean 'heads'?");
  EXPECT_EQ(suggestion("heads", known), "; did you mean 'heads'?");
  EXPECT_EQ(suggestion("chanels", known), "; did you mean 'channels'?");
}

TEST(Suggestion, SaysNothingWhereNoneIsNear) {
  EXPECT_EQ(suggestion("temperature", {"layers", "heads"}), "");
  EXPECT_EQ(suggestion("x", {}), "");
  EXPECT_EQ(suggestion("", {"layers"}), "");
}

// Three letters are a third of nine, four are more.
TEST(Suggestion, AllowsAThirdOfTheName) {
  EXPECT_EQ(suggestion("abcdefxyz", {"abcdefghi"}), "; did you mean 'abcdefghi'?");
  EXPECT_EQ(suggestion("abcdewxyz", {"abcdefghi"}), "");
}

}  // namespace
}  // namespace tessera
