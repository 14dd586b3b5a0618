#include "tessera/store/detail/word_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/base/random.h"

namespace tessera::store {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts(const std::string& text) {
  std::vector<std::string> texts;
  for (const Word& word : words_of(text)) texts.push_back(word.text);
  return texts;
}

/// The matches with the fewest differences, as the text has them.
std::vector<std::string> best(const std::string& words, bool cut, const std::string& text,
                              int64_t most = 1) {
  WordAlignment alignment(words_of(words), cut);
  std::vector<std::string> found;
  for (const Word& word : words_of(text))
    alignment.read(word, most, [&](const WordMatch& match) {
      if (match.differences < most) found.clear();
      most = match.differences;
      found.push_back(text.substr(match.begin, match.end - match.begin));
    });
  return found;
}

TEST(Words, AreRunsOfLettersAndDigits) {
  EXPECT_THAT(texts("The “Ärger”, don't: x_2!"), ElementsAre("the", "ärger", "don", "t", "x", "2"));
  EXPECT_THAT(texts("東京 abc"), ElementsAre("東", "京", "abc"));
  EXPECT_THAT(texts("你好，世界。「々」（ａ）"), ElementsAre("你", "好", "世", "界", "々", "ａ"));
  EXPECT_THAT(texts("5µm–7µm·½"), ElementsAre("5µm", "7µm", "½"));
  EXPECT_THAT(texts("5 × 3 ÷ 2 ≤ 15 €"), ElementsAre("5", "3", "2", "15"));
  EXPECT_THAT(texts("│ bob → 41 │ ★✔️😀 ok ①"),
              ElementsAre("bob", "41", "ok", "①"));
  EXPECT_TRUE(words_of(" …\n").empty());
  const auto words = words_of("é (ab)");
  EXPECT_EQ(words[1].begin, 4);
  EXPECT_EQ(words[1].end, 6);
}

TEST(WordAlignment, FindsWordsWhateverStandsBetweenThem) {
  const std::string text = "He saw the watery part\nof the WORLD; of the world.";
  EXPECT_THAT(best("part of the world", false, text), ElementsAre("part\nof the WORLD"));
  EXPECT_THAT(best("of the world", false, text), ElementsAre("of the WORLD", "of the world"));
}

TEST(WordAlignment, AllowsWordsThatAreWrongMissingOrTooMany) {
  const std::string text = "one two three four five six";
  EXPECT_THAT(best("two wrong four five", false, text), ElementsAre("two three four five"));
  EXPECT_THAT(best("two four five", false, text), ElementsAre("two three four five"));
  EXPECT_THAT(best("two three extra four five", false, text), ElementsAre("two three four five"));
  EXPECT_TRUE(best("two bad worse five", false, text).empty());
  EXPECT_THAT(best("two bad worse five", false, text, 2), ElementsAre("two three four five"));
}

TEST(WordAlignment, SwappedNeighboursAreOneDifference) {
  const std::string text = "one two three four five six";
  EXPECT_THAT(best("two four three five", false, text), ElementsAre("two three four five"));
  EXPECT_THAT(best("three two four", false, text), ElementsAre("two three four"));
  EXPECT_TRUE(best("two five four three", false, text).empty()) << "more than neighbours";
  EXPECT_THAT(best("one three two five four six", false, text, 2), ElementsAre(text));
}

TEST(WordAlignment, SaysHowManyWordsAnEquallyGoodMatchCanLack) {
  const auto most_absent = [](const std::string& asked) {
    WordAlignment alignment(words_of(asked), false);
    int64_t most = -1;
    for (const Word& word : words_of("one two three four five six"))
      alignment.read(word, 2, [&](const WordMatch& match) {
        if (match.end == 27) most = WordAlignment::most_absent(match);
      });
    return most;
  };
  EXPECT_EQ(most_absent("two three four five six"), 0);
  EXPECT_EQ(most_absent("two three five six"), 0) << "one is missing: those asked for are there";
  EXPECT_EQ(most_absent("two four three five six"), 0) << "swapped: they are there";
  EXPECT_EQ(most_absent("two wrong four five six"), 1);
  EXPECT_EQ(most_absent("two three extra four five six"), 1);
  EXPECT_EQ(most_absent("two wrong worse five six"), 2);
  EXPECT_EQ(most_absent("two four five wrong six"), 1);
}

TEST(WordAlignment, CountsTheWordsThatAreMissing) {
  const auto missing = [](const std::string& asked) {
    WordAlignment alignment(words_of(asked), false);
    WordMatch best{.differences = 9};
    for (const Word& word : words_of("one two three four five six"))
      alignment.read(word, 3, [&](const WordMatch& match) {
        if (match.differences < best.differences) best = match;
      });
    return std::pair(best.differences, best.missing);
  };
  EXPECT_EQ(missing("two three four"), std::pair(0l, 0l));
  EXPECT_EQ(missing("two four five"), std::pair(1l, 1l));
  EXPECT_EQ(missing("one two wrong four"), std::pair(1l, 0l));
  EXPECT_EQ(missing("one two more three"), std::pair(1l, 0l));
  EXPECT_EQ(missing("one three wrong five six"), std::pair(2l, 1l));
}

TEST(WordAlignment, TheWordsAskedForCountMoreThanThoseBetweenThem) {
  const std::string text = "symmetry in her form he was forced";
  WordAlignment alignment(words_of("symmetry in her form was"), false);
  WordMatch best{.differences = 1, .doubt = 9};
  for (const Word& word : words_of(text))
    alignment.read(word, 1, [&](const WordMatch& match) {
      if (match.doubt < best.doubt) best = match;
    });
  EXPECT_EQ(text.substr(0, best.end), "symmetry in her form he was");
  EXPECT_EQ(best.missing, 1);
}

TEST(WordAlignment, BeginsAndEndsInsideWords) {
  const std::string text = "the watery part";
  EXPECT_THAT(best("tery pa", true, text, 0), ElementsAre("tery pa"));
  EXPECT_TRUE(best("tery pa", false, text, 0).empty()) << "the last word has ended";
}

TEST(WordAlignment, AWordThatIsAbsentMayBePartOfOne) {
  WordAlignment alignment(words_of("one wat two wat"), true);
  alignment.restart({"wat"});
  int64_t differences = -1;
  for (const Word& word : words_of("one other two water"))
    alignment.read(word, 1, [&](const WordMatch& match) { differences = match.differences; });
  EXPECT_EQ(differences, 1);
}

/// Edit distance of words, where neighbours may be swapped, to any part of a text that ends at each
/// of its words.
std::vector<int64_t> slow_differences(const std::vector<std::string>& words,
                                      const std::vector<std::string>& text) {
  std::vector<int64_t> least;
  for (size_t end = 1; end <= text.size(); ++end) {
    int64_t best = std::ssize(words);
    for (size_t begin = 0; begin < end; ++begin) {
      const size_t n = end - begin;
      std::vector<std::vector<int64_t>> d(words.size() + 1, std::vector<int64_t>(n + 1));
      for (size_t i = 0; i <= words.size(); ++i)
        for (size_t j = 0; j <= n; ++j) {
          d[i][j] = i == 0   ? static_cast<int64_t>(j)
                    : j == 0 ? static_cast<int64_t>(i)
                             : std::min({d[i - 1][j - 1] + (words[i - 1] != text[begin + j - 1]),
                                         d[i - 1][j] + 1, d[i][j - 1] + 1});
          if (i > 1 && j > 1 && words[i - 1] == text[begin + j - 2] &&
              words[i - 2] == text[begin + j - 1])
            d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
      best = std::min(best, d[words.size()][n]);
    }
    least.push_back(best);
  }
  return least;
}

TEST(WordAlignment, AgreesWithTheEditDistance) {
  RandomStream random(3);
  const auto draw = [&](size_t count, uint64_t letters) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += std::string(1, static_cast<char>('a' + random.below(letters))) + " ";
    return text;
  };
  for (int round = 0; round < 60; ++round) {
    const std::string asked = draw(4, 4), text = draw(12, 3);
    const auto expected = slow_differences(texts(asked), texts(text));
    std::vector<int64_t> found(expected.size(), 4);
    WordAlignment alignment(words_of(asked), false);
    if (round % 2 == 1) alignment.restart({"d"});
    const auto words = words_of(text);
    for (size_t j = 0; j < words.size(); ++j)
      alignment.read(words[j], 4, [&](const WordMatch& match) { found[j] = match.differences; });
    EXPECT_EQ(*std::ranges::min_element(found), *std::ranges::min_element(expected)) << text;
    for (size_t j = 0; j < found.size(); ++j) EXPECT_GE(found[j], expected[j]);
  }
}

}  // namespace
}  // namespace tessera::store
