#include "tessera/data/bpe_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/data/detail/tokenizer_content.h"

namespace tessera {
namespace {

using testing::ElementsAre;

/// The tokens behind those of the bytes and the end of text.
std::vector<std::string> learned(const Tokenizer& tokenizer) {
  std::vector<std::string> tokens;
  for (int32_t id = 257; id < tokenizer.vocabulary_size(); ++id)
    tokens.emplace_back(tokenizer.token_bytes(id));
  return tokens;
}

// Pre-tokens: "ab" 2 times, " ab" once, " abc" 2 times, so a b occurs 5 times; then " " "ab" 3
// times; then " ab" "c" twice.
TEST(BpeTrainer, MergesTheMostFrequentPair) {
  BpeTrainer trainer({.vocabulary_size = 270});
  for (const char* text : {"ab", "ab", " ab", " abc abc"}) trainer.add_text(text);
  const auto tokenizer = trainer.train();
  EXPECT_THAT(learned(tokenizer), ElementsAre("ab", " ab", " abc"));
  EXPECT_EQ(tokenizer.end_of_text(), 0);
  EXPECT_THAT(tokenizer.encode(" abcab"), ElementsAre(259, 257));
}

// "ab", "ba" and "cd" occur twice each; ids follow the alphabet, so (a, b) comes first.
TEST(BpeTrainer, TiesGoToTheSmallerIds) {
  BpeTrainer trainer({.vocabulary_size = 258});
  trainer.add_text("cd\nba\nab\ncd\nba\nab");
  EXPECT_THAT(learned(trainer.train()), ElementsAre("ab"));
}

// The space is written as U+0120, which sorts behind the letters.
TEST(BpeTrainer, IdsFollowTheWrittenAlphabet) {
  BpeTrainer trainer({.vocabulary_size = 256, .end_of_text = EndOfText::kAbsent});
  trainer.add_text("x");
  const auto tokenizer = trainer.train();
  EXPECT_EQ(tokenizer.token_bytes(0), "!");
  EXPECT_THAT(tokenizer.encode("a "), ElementsAre('a' - '!', 188 + 32));
  EXPECT_EQ(tokenizer.end_of_text(), std::nullopt);
}

TEST(BpeTrainer, MinimumCountStopsIt) {
  BpeTrainer trainer({.vocabulary_size = 300, .minimum_count = 3});
  trainer.add_text("ab ab cd cd cd");
  EXPECT_THAT(learned(trainer.train()), ElementsAre("cd", " cd"));
}

/// All counts afresh for every merge.
std::vector<std::pair<int32_t, int32_t>> slow_merges(std::vector<std::vector<int32_t>> words,
                                                     int32_t first_id, int merges) {
  std::vector<std::pair<int32_t, int32_t>> result;
  for (int32_t id = first_id; id < first_id + merges; ++id) {
    std::map<std::pair<int32_t, int32_t>, int> counts;
    for (const auto& word : words)
      for (size_t i = 0; i + 1 < word.size(); ++i) ++counts[{word[i], word[i + 1]}];
    const auto best =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == counts.end() || best->second < 2) break;
    result.push_back(best->first);
    for (auto& word : words)
      for (size_t i = 0; i + 1 < word.size(); ++i)
        if (std::pair(word[i], word[i + 1]) == best->first) {
          word[i] = id;
          word.erase(word.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
  }
  return result;
}

// Letters of one case only, so that no two ways lead to the same token before the counts run out.
TEST(BpeTrainer, EqualsTheSlowReference) {
  RandomStream random(7);
  BpeTrainer trainer({.vocabulary_size = 290, .end_of_text = EndOfText::kAbsent});
  std::vector<std::vector<int32_t>> words;
  for (int i = 0; i < 400; ++i) {
    std::string text;
    for (uint64_t length = 1 + random.below(9); length > 0; --length)
      text += static_cast<char>('a' + random.below(5));
    trainer.add_text(text);
    for (words.emplace_back(); char c : text) words.back().push_back(c - '!');
  }
  const auto tokenizer = trainer.train();
  const auto& merges = std::get<BpeModel>(tokenizer.content().model).merges();
  const auto expected = slow_merges(words, 256, static_cast<int>(merges.size()));
  ASSERT_EQ(merges.size(), expected.size());
  for (size_t i = 0; i < merges.size(); ++i)
    EXPECT_EQ(std::pair(merges[i].left, merges[i].right), expected[i]) << i;
}

TEST(BpeTrainer, TextWithoutSpacesIsCountedInParts) {
  BpeTrainer trainer({.vocabulary_size = 400});
  trainer.add_text(std::string(100'000, 'a'));
  const auto tokenizer = trainer.train();
  EXPECT_EQ(learned(tokenizer).front(), "aa");
  EXPECT_LE(learned(tokenizer).back().size(), 256u);
}

TEST(BpeTrainer, ReportsProgressAndRefusesNonsense) {
  std::vector<std::pair<int64_t, int64_t>> told;
  BpeTrainer trainer({.vocabulary_size = 300});
  trainer.add_text("abc abc abc");
  EXPECT_LT(trainer.train([&](int64_t done, int64_t of) { told.emplace_back(done, of); })
                .vocabulary_size(),
            300);
  EXPECT_EQ(told.front(), std::pair(int64_t{258}, int64_t{300}));
  EXPECT_EQ(told.back(), std::pair(int64_t{300}, int64_t{300})) << "complete, with fewer tokens";
  EXPECT_EQ(trainer.text_bytes(), 11);
  EXPECT_THROW(BpeTrainer({.vocabulary_size = 256}), UsageError);
  EXPECT_THROW(BpeTrainer({.minimum_count = 0}), UsageError);
  EXPECT_THROW(BpeTrainer({}).train(), DataError);
}

}  // namespace
}  // namespace tessera
