#include "tessera/memo/window_code.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera::memo {
namespace {

/// "1 2 > 3" for the window (1, 2) and its next token 3.
std::vector<std::string> listed(WindowPairs& windows, const std::vector<int64_t>& lengths,
                                const std::vector<std::vector<int32_t>>& pieces) {
  std::vector<std::string> all;
  for (const auto& piece : pieces)
    for (const WindowPair& pair : windows.append(piece)) {
      std::string line;
      for (int64_t i = pair.next - lengths[pair.length_index]; i < pair.next; ++i)
        line += std::to_string(windows.text()[i]) + " ";
      all.push_back(line + "> " + std::to_string(windows.text()[pair.next]));
    }
  return all;
}

// h = 2, l = 3, tokens 1..9, as in figure 2 of the paper: windows at every position.
TEST(WindowPairs, TwoHeadsThreeLayersNineTokens) {
  const std::vector<int64_t> lengths = {2, 4, 8};
  const std::vector<std::string> expected = {"1 2 > 3",
                                             "2 3 > 4",
                                             "3 4 > 5",
                                             "1 2 3 4 > 5",
                                             "4 5 > 6",
                                             "2 3 4 5 > 6",
                                             "5 6 > 7",
                                             "3 4 5 6 > 7",
                                             "6 7 > 8",
                                             "4 5 6 7 > 8",
                                             "7 8 > 9",
                                             "5 6 7 8 > 9",
                                             "1 2 3 4 5 6 7 8 > 9"};
  const std::vector<std::vector<std::vector<int32_t>>> cuts = {
      {{1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {{1}, {2, 3}, {}, {4, 5, 6, 7, 8}, {9}},
      {{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}}};
  for (const auto& pieces : cuts) {
    WindowPairs windows(lengths);
    EXPECT_EQ(listed(windows, lengths, pieces), expected);
  }
}

TEST(WindowPairs, AreReportedAtTheirFirstPlaceAlone) {
  WindowPairs windows({1, 2});
  EXPECT_EQ(listed(windows, {1, 2}, {{1, 2, 1, 2, 1, 3}}),
            (std::vector<std::string>{"1 > 2", "2 > 1", "1 2 > 1", "2 1 > 2", "1 > 3", "2 1 > 3"}));
}

TEST(WindowPairs, AreKnownAcrossPieces) {
  std::vector<int32_t> text;
  for (int32_t i = 0; i < 5000; ++i) text.push_back(i * i % 97);
  WindowPairs at_once({4, 16}), by_pieces({4, 16});
  size_t expected = at_once.append(text).size(), actual = 0;
  for (size_t first = 0; first < text.size(); first += 7)
    actual +=
        by_pieces.append(std::span(text).subspan(first, std::min<size_t>(7, 5000 - first))).size();
  EXPECT_EQ(actual, expected);
  EXPECT_LE(expected, 2u * 97 + 16);  // the text has period 97
}

TEST(WindowPairs, TextsWithoutAWindowHaveNoPairs) {
  WindowPairs windows({4, 16});
  EXPECT_TRUE(windows.append({}).empty());
  EXPECT_TRUE(windows.append(std::vector<int32_t>{1}).empty());
  EXPECT_TRUE(windows.append(std::vector<int32_t>{1, 1, 1}).empty());
  EXPECT_EQ(windows.append(std::vector<int32_t>{1}).size(), 1u);
}

}  // namespace
}  // namespace tessera::memo
