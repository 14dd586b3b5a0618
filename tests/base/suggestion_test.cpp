#include "tessera/base/suggestion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

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

TEST(Suggestion, TakesSixteenTyposForTyposAndNoMore) {
  const std::string name(60, 'n');
  const auto with_typos = [&](size_t count) { return name + std::string(count, 'x') + name; };
  EXPECT_NE(suggestion(with_typos(0), {with_typos(16)}), "");
  EXPECT_EQ(suggestion(with_typos(0), {with_typos(17)}), "");
}

TEST(Suggestion, NobodyTypedANameOfMoreThan256Bytes) {
  EXPECT_NE(suggestion(std::string(256, 'n'), {std::string(255, 'n')}), "");
  EXPECT_EQ(suggestion(std::string(257, 'n'), {std::string(256, 'n')}), "");
}

size_t slow_distance(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const std::string x = a.substr(1), y = b.substr(1);
  return std::min(
      {slow_distance(x, b) + 1, slow_distance(a, y) + 1, slow_distance(x, y) + (a[0] != b[0])});
}

TEST(Suggestion, IsTheNearestByEditDistance) {
  std::mt19937 random(1);
  const auto word = [&] {
    std::string letters(4 + random() % 4, 'a');
    for (char& letter : letters) letter = "ab"[random() % 2];
    return letters;
  };
  for (int n = 0; n < 200; ++n) {
    const std::string name = word();
    const std::vector<std::string> known = {word(), word(), word()};
    const auto nearest = std::ranges::min_element(
        known, {}, [&](const std::string& one) { return slow_distance(name, one); });
    const bool is_near = slow_distance(name, *nearest) <= 2;
    EXPECT_EQ(suggestion(name, known), is_near ? "; did you mean '" + *nearest + "'?" : "");
  }
}

}  // namespace
}  // namespace tessera
