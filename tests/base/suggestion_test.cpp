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

TEST(Suggestion, NamesOneThatBeginsOrEndsWithTheWord) {
  const std::vector<std::string> known = {"lstm", "memory_mosaic", "complex_mosaic"};
  EXPECT_EQ(suggestion("mosaic", known), "; did you mean 'memory_mosaic'?");
  EXPECT_EQ(suggestion("complex", known), "; did you mean 'complex_mosaic'?");
  EXPECT_EQ(suggestion("ory_mosaic", {"memory_mosaic"}), "; did you mean 'memory_mosaic'?");
  EXPECT_EQ(suggestion("saic", known), "");
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

TEST(Suggestion, NamesOneShorterOrLongerByAThird) {
  EXPECT_EQ(suggestion("abcdefghi", {"abcdef"}), "; did you mean 'abcdef'?");
  EXPECT_EQ(suggestion("abcdefghi", {"abcde"}), "");
  EXPECT_EQ(suggestion("abcdefghi", {"abcdefghijkl"}), "; did you mean 'abcdefghijkl'?");
  EXPECT_EQ(suggestion("abcdefghi", {"abcdefghijklm"}), "");
}

// As a file from elsewhere may name its tensors: letter by letter this takes minutes.
TEST(Suggestion, PassesOverNamesOfOtherLengths) {
  const std::string name(100'000, 'n');
  EXPECT_EQ(suggestion(name, std::vector<std::string>(100, "weight" + std::string(60'000, 'n'))),
            "");
}

}  // namespace
}  // namespace tessera
