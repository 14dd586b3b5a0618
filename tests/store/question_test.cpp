#include "tessera/store/question.h"

#include <fmt/ranges.h>

#include <map>

#include "tessera/base/random.h"
#include "tessera/data/bpe_trainer.h"
#include "tessera/store/detail/word_alignment.h"
#include "tessera/store/recall.h"
#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

constexpr const char* kText =
    "Call me Ishmael. Some years ago I thought I would sail about a little and see the watery\n"
    "part of the world. It is a way I have of driving off the spleen—“and so” I went.\n";

/// A store of bytes that is large enough for long prompts.
class QuestionTest : public StoreTest {
 protected:
  QuestionTest() : StoreTest({.dimension = 512}) {
    memorize(store(), "whale", kText);
    memorize(store(), "lamp", "My lamp went out at nine, and the oil was gone by ten.\n");
  }
  Question read(const std::string& typed) const { return read_question(MemoStore(store()), typed); }
  /// What is recited after a text, without what was typed.
  std::string recited(const std::string& typed, int64_t tokens,
                      const std::string& name = "store") const {
    const MemoStore opened(store(name));
    const Question question = read_question(opened, typed);
    const std::string text =
        text_of(recall(opened, question.tokens, {.tokens = tokens}), opened.tokenizer());
    EXPECT_TRUE(text.starts_with(question.rest));
    return text.substr(question.rest.size());
  }
};

TEST_F(QuestionTest, LineBreaksQuotesDashesAndCaseMakeNoDifference) {
  EXPECT_EQ(read("the watery part of the").text, "the watery\npart of the");
  EXPECT_EQ(recited("see the watery   part of the", 8), " world. ");
  EXPECT_EQ(recited("the watery ", 5), "part ");
  EXPECT_EQ(recited("driving off the spleen - \"and so\"", 8), " I went.");
  EXPECT_EQ(recited("call me ishmael.", 5), " Some");
  EXPECT_EQ(read("See The Watery Part").differences, 0);
}

TEST_F(QuestionTest, IsFoundWhereTheIndexCutsWordsElsewhere) {
  memorize(store(), "glass", "The layer was between 5µm and 7µm thick on the glass.\n");
  memorize(store(), "code", "我们用Python和C++编写程序，测试。\n");
  EXPECT_EQ(recited("BETWEEN 5µm AND 7µm THICK", 7), " on the");
  EXPECT_EQ(recited("们用python和c 编", 6), "写程");
  EXPECT_EQ(recited("编写程序测试", 3), "。");
}

TEST_F(QuestionTest, WhatCannotBeEncodedIsTheCallersMistake) {
  create(store("letters"), Tokenizer::characters(kText, EndOfText::kPresent));
  memorize(store("letters"), "whale", kText);
  const MemoStore letters(store("letters"));
  for (const bool exact : {false, true})
    EXPECT_THAT(message_of<UsageError>([&] { read_question(letters, "QUIZ", {.exact = exact}); }),
                HasSubstr("the prompt cannot be encoded: byte 0: the character U+0051"));
}

TEST_F(QuestionTest, FromEightWordsOnTwoMayBeWrong) {
  EXPECT_EQ(recited("thought I would sail a about little and see", 4), " the") << "swapped";
  EXPECT_EQ(recited("thought he would sail about a bit and see", 4), " the");
  EXPECT_EQ(recited("some years ago I believed I could sail about a", 7), " little");
  EXPECT_EQ(read("thought he would sail far a bit and see").differences, 0) << "three of nine";
}

TEST_F(QuestionTest, AnEndBetweenTheBytesOfALineEndIsWhereItWasTyped) {
  memorize(store(), "exodus", "Let my people go,\r\nthat they may serve me.\r\n");
  EXPECT_EQ(recited("Let my people go,\r", 5), "\nthat");
  EXPECT_EQ(recited("Let my people go,\r\n", 4), "that");
  EXPECT_EQ(recited("Let my people go,", 6), "\r\nthat");
}

TEST_F(QuestionTest, OneWordMayBeWrongMissingOrTooMany) {
  EXPECT_EQ(recited("I have of driving off a spleen", 3), "—");
  EXPECT_EQ(read("I have of driving off a spleen").differences, 1);
  EXPECT_EQ(read("I have of driving off a spleen").text, "I have of driving off the spleen");
  EXPECT_EQ(recited("It is a way have of driving", 4), " off");
  EXPECT_EQ(recited("Some years ago I thought would", 5), " sail") << "not: a word too many";
  EXPECT_EQ(recited("It is a new way I have of", 8), " driving");
  EXPECT_EQ(recited("part of the world. It is the", 6), " a way") << "the last word is wrong";
  EXPECT_EQ(read("watery of the").text, "watery\npart of the") << "three words, one missing";
  EXPECT_EQ(read("way you have").differences, 0) << "too few words to allow a wrong one";
  EXPECT_EQ(read("watery the").differences, 0) << "too few words to allow a missing one";
}

TEST_F(QuestionTest, BeginsAndEndsInsideWords) {
  EXPECT_EQ(recited("ael. Some years ago I tho", 5), "ught ");
  EXPECT_EQ(recited("tery part of the wor", 3), "ld.");
}

TEST_F(QuestionTest, WhatNoDocumentHasIsAsItWasTyped) {
  const Question question = read("quoth the raven of the world");
  EXPECT_EQ(question.tokens, byte_tokenizer().encode("quoth the raven of the world"));
  EXPECT_EQ(question.text, "quoth the raven of the world");
  EXPECT_EQ(question.rest, "");
  EXPECT_EQ(read("").tokens.size(), 0u);
  EXPECT_EQ(read("...").text, "...");
}

TEST_F(QuestionTest, WhatIsForgottenIsNoLongerRead) {
  forget(store(), "whale");
  EXPECT_EQ(read("the watery part of the").text, "the watery part of the");
}

/// The tokens of words depend on the space before them: the document's own are asked for.
TEST_F(QuestionTest, TokensOfSeveralLettersAreTheDocuments) {
  const Tokenizer tokenizer = [] {
    BpeTrainer trainer({.vocabulary_size = 320});
    for (int i = 0; i < 3; ++i) trainer.add_text(kText);
    return trainer.train();
  }();
  MemoStore::create(store("bpe"), {.dimension = 256}, tokenizer);
  memorize(store("bpe"), "whale", kText);
  const auto after = [&](const std::string& typed) {
    return recited(typed, 6, "bpe").substr(0, 5);
  };
  EXPECT_EQ(after("little and see the watery part of the"), " worl");
  EXPECT_EQ(after("ttle and see the watery part of the wo"), "rld. ");
  EXPECT_EQ(after("little and see the watery part of the "), "world");
}

/// Its tokens of a passage begin a byte before the passage.
TEST_F(QuestionTest, ATokenizerMayPutASpaceBeforeATextAndAPassage) {
  create(store("spaced"), spacing_tokenizer(kText));
  memorize(store("spaced"), "whale", kText);
  const std::string typed = "Call me Ishmael. Some years ago";
  EXPECT_EQ(read_question(MemoStore(store("spaced")), typed).text, typed);
  EXPECT_EQ(recited(typed, 8, "spaced").substr(0, 6), " I tho");
}

/// The fewest differences, and the least doubt, that a question of more than seven words has
/// anywhere: every word of the texts is looked at.
std::pair<int64_t, int64_t> slow_differences(const std::vector<std::string>& texts,
                                             const std::string& asked) {
  std::pair<int64_t, int64_t> best = {INT64_MAX, INT64_MAX};
  for (const std::string& text : texts) {
    WordAlignment alignment(words_of(asked), true);
    for (const Word& word : words_of(text))
      alignment.read(word, 2, [&](const WordMatch& match) {
        best = std::min(best, {match.differences, match.doubt});
      });
  }
  return best;
}

TEST_F(QuestionTest, TheIndexFindsWhatLookingEverywhereFinds) {
  RandomStream random(11);
  const auto words = [&](size_t count) {
    std::vector<std::string> drawn;
    for (size_t i = 0; i < count; ++i) {
      const size_t word = std::min(random.below(40), random.below(40));  // the first are frequent
      drawn.push_back("word" + std::string(1 + word % 7, static_cast<char>('a' + word % 20)));
    }
    return drawn;
  };
  std::vector<std::string> texts;
  for (int document = 0; document < 3; ++document) {
    std::string& text = texts.emplace_back();
    for (int line = 0; line < 60; ++line) text += fmt::format("{}\n", fmt::join(words(9), " "));
    memorize(store(), std::to_string(document), text);
  }
  const MemoStore opened(store());
  std::map<int64_t, int> asked_with;
  for (int n = 0; n < 300; ++n) {
    const std::string& text = texts[random.below(texts.size())];
    std::vector<Word> asked = words_of(text);
    const int64_t first = random.below(asked.size() - 9);
    asked = {asked.begin() + first, asked.begin() + first + 9};
    for (int slips = n % 3; slips > 0; --slips) {
      const size_t at = random.below(asked.size() - 1);
      if (n % 4 == 0) std::swap(asked[at], asked[at + 1]);
      if (n % 4 == 1) asked[at].text = words(1).front();
      if (n % 4 == 2) asked.erase(asked.begin() + at);
      if (n % 4 == 3) asked.insert(asked.begin() + at, asked[at / 2]);
    }
    std::vector<std::string> question;
    for (const Word& word : asked) question.push_back(word.text);
    const std::string typed = fmt::format("{}", fmt::join(question, " "));
    if (question.size() < 8) continue;  // fewer differences are allowed
    const Readings found = opened.readings(typed);
    EXPECT_EQ(std::pair(found.differences, found.doubt), slow_differences(texts, typed)) << typed;
    ++asked_with[found.differences];
  }
  EXPECT_EQ(asked_with.size(), 3u) << "none, one and two differences";
}

}  // namespace
}  // namespace tessera::store
