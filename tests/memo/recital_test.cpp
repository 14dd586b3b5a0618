#include "tessera/memo/recital.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/memo/text_memory.h"
#include "tessera/memo/text_reader.h"
#include "tests/memo/texts.h"

namespace tessera::memo {
namespace {

using Tokens = std::vector<int32_t>;

constexpr int32_t kSmallVocabulary = 200, kEndOfText = 199;

Tokens random_tokens(size_t count, uint64_t seed) {
  return test::random_tokens(seed, count, kEndOfText);
}

void memorize(TextMemory& memory, const Tokens& document) {
  memory.memorize(one_piece(document));
}

TextMemory memory_of(const std::vector<Tokens>& documents, int64_t dimension) {
  TextMemory memory({.dimension = dimension, .vocabulary = kSmallVocabulary, .seed = 3});
  for (const Tokens& document : documents) memorize(memory, document);
  return memory;
}

LikelihoodDecoder decoder_of(const TextMemory& memory) {
  return {std::vector<double>(kSmallVocabulary, 1.0), memory.noise(), 0.01};
}

/// At most `most` tokens, the end of text left out.
Tokens recite(const TextMemory& memory, std::span<const int32_t> prompt, size_t most = 1000) {
  const LikelihoodDecoder decoder = decoder_of(memory);
  Recital recital(memory, decoder, prompt, kEndOfText);
  Tokens recited;
  while (recited.size() < most) {
    const auto next = recital.next();
    if (!next || next->token == kEndOfText) break;
    EXPECT_TRUE(next->recalled);
    EXPECT_GT(next->evidence, -std::log(0.01));
    EXPECT_GT(next->probability, 0);
    EXPECT_LE(next->probability, 1);
    recited.push_back(next->token);
  }
  return recited;
}

/// How many tokens of `text` after the first `prompt` come before the first error, taking the best
/// token each time.
size_t recited_greedily(const TextMemory& memory, const Tokens& text, size_t prompt) {
  const LikelihoodDecoder decoder = decoder_of(memory);
  TextReader reader(memory);
  for (size_t i = 0; i < prompt; ++i) reader.append(text[i]);
  size_t i = prompt;
  while (i < text.size() && decoder.best(reader.scores()).token == text[i])
    reader.append(text[i++]);
  return i - prompt;
}

TEST(Recital, RecitesADocumentToItsEnd) {
  Tokens text = random_tokens(60, 1);
  text.push_back(kEndOfText);
  const TextMemory memory = memory_of({text, random_tokens(60, 2)}, 512);
  EXPECT_EQ(recite(memory, std::span(text).first(5)), Tokens(text.begin() + 5, text.end() - 1));
}

TEST(Recital, NothingFollowsAnEndOfText) {
  Tokens text = random_tokens(20, 1);
  text.push_back(kEndOfText);
  const TextMemory memory = memory_of({text}, 512);
  const LikelihoodDecoder decoder = decoder_of(memory);
  Recital recital(memory, decoder, std::span(text).first(20), kEndOfText);
  ASSERT_EQ(recital.next()->token, kEndOfText);
  EXPECT_FALSE(recital.next());
  EXPECT_FALSE(recital.next());
}

TEST(Recital, EndsWhereNothingStoredGoesOn) {
  const Tokens text = random_tokens(60, 1);  // no end of text
  const TextMemory memory = memory_of({text}, 512);
  EXPECT_EQ(recite(memory, std::span(text).first(16)), Tokens(text.begin() + 16, text.end()));
  EXPECT_TRUE(recite(memory, random_tokens(20, 9)).empty());
  EXPECT_TRUE(recite(memory, std::span(text).first(3)).empty()) << "shorter than every window";
  EXPECT_TRUE(recite(memory, {}).empty());
  EXPECT_TRUE(recite(memory_of({}, 512), std::span(text).first(16)).empty());
}

/// Counts how often a memory is read, and can spoil what the first read says of the longest window.
class WatchedMemory : public ReadableMemory {
 public:
  explicit WatchedMemory(const TextMemory& memory) : memory_(memory) {}

  const WindowCode& code() const override { return memory_.code(); }
  std::vector<float> retrieve(const WindowQueries& queries) const override {
    std::vector<float> values = memory_.retrieve(queries);
    if (spoils && reads == 0)
      for (float& value : std::span(values).last(config().dimension)) value = -value;
    ++reads;
    return values;
  }
  double noise() const override { return memory_.noise(); }
  double noise(size_t shard) const override { return memory_.noise(shard); }

  bool spoils = false;
  mutable size_t reads = 0;

 private:
  const TextMemory& memory_;
};

TEST(Recital, ReadsNoOtherContinuationWhileTheBestIsCertain) {
  const Tokens text = random_tokens(80, 1);
  const TextMemory memory = memory_of({text, random_tokens(60, 2)}, 2048);
  const WatchedMemory watched(memory);
  const LikelihoodDecoder decoder = decoder_of(memory);
  Recital recital(watched, decoder, std::span(text).first(16), kEndOfText);
  for (size_t i = 16; i < 60; ++i) ASSERT_EQ(recital.next()->token, text[i]);
  EXPECT_EQ(watched.reads, 44u + 7u) << "a read for each token, and seven tokens ahead";
}

// Of a large vocabulary many tokens seem to continue the text. None of them may crowd out the one
// that only the shorter window knows.
TEST(Recital, FollowsAShorterWindowWhereTheLongestMisleads) {
  constexpr int32_t kVocabulary = 4000;
  const Tokens text = test::random_tokens(5, 4000, kVocabulary - 1);
  TextMemory memory({.dimension = 448, .vocabulary = kVocabulary, .seed = 3});
  memorize(memory, text);
  const LikelihoodDecoder decoder(std::vector<double>(kVocabulary, 1.0), memory.noise(), 0.01);
  int right = 0;
  for (size_t begin = 0; begin < 3900; begin += 78) {
    WatchedMemory watched(memory);
    watched.spoils = true;
    Recital recital(watched, decoder, std::span(text).subspan(begin, 8), kVocabulary - 1);
    const auto next = recital.next();
    right += next && next->token == text[begin + 8];
  }
  EXPECT_GE(right, 30) << "of 50";
}

TEST(Recital, LooksAheadWhereTheBestTokenMisleads) {
  const Tokens text = random_tokens(4000, 5);
  const TextMemory memory = memory_of({text}, 320);  // overfull: single tokens are often wrong
  constexpr size_t kPrompt = 16, kTokens = 60;
  size_t greedy = 0, ahead = 0;
  for (size_t begin = 0; begin < 2000; begin += 200) {
    const Tokens part(text.begin() + begin, text.begin() + begin + kPrompt + kTokens);
    greedy += recited_greedily(memory, part, kPrompt);
    const Tokens recited = recite(memory, std::span(part).first(kPrompt), kTokens);
    const Tokens stored(part.begin() + kPrompt, part.end());
    ahead += std::ranges::mismatch(recited, stored).in1 - recited.begin();
  }
  EXPECT_LT(greedy, 10 * kTokens * 6 / 10);
  EXPECT_GT(ahead, 10 * kTokens * 9 / 10);
}

TEST(Recital, AnswersWhatWasNeverStoredNoMoreOftenThanSaid) {
  const TextMemory memory = memory_of({random_tokens(4000, 5)}, 320);  // overfull
  constexpr int kPrompts = 100;
  int answered = 0;
  for (int i = 0; i < kPrompts; ++i)
    answered += !recite(memory, random_tokens(16, 100 + static_cast<uint64_t>(i)), 1).empty();
  EXPECT_LE(answered, 4);  // 1 expected at most; 5 have a chance of 0.004
}

TEST(Recital, APhraseOfManyDocumentsDoesNotLeadAway) {
  // Eight documents go on from the phrase in their own way; one has it in its midst.
  const Tokens phrase = random_tokens(6, 1), text = random_tokens(60, 2);
  Tokens with_phrase(text.begin(), text.begin() + 30);
  with_phrase.insert(with_phrase.end(), phrase.begin(), phrase.end());
  with_phrase.insert(with_phrase.end(), text.begin() + 30, text.end());
  std::vector<Tokens> documents = {with_phrase};
  const Tokens other = random_tokens(20, 3);
  for (uint64_t n = 0; n < 8; ++n) {
    documents.push_back(random_tokens(10, 10 + n));
    documents.back().insert(documents.back().end(), phrase.begin(), phrase.end());
    documents.back().insert(documents.back().end(), other.begin(), other.end());
  }
  const TextMemory memory = memory_of(documents, 512);
  EXPECT_EQ(recite(memory, std::span(with_phrase).first(16)),
            Tokens(with_phrase.begin() + 16, with_phrase.end()));
}

TEST(Recital, FollowsTheLastTokensOfATextThatIsPartlyNew) {
  const Tokens text = random_tokens(60, 1);
  const TextMemory memory = memory_of({text, random_tokens(200, 2)}, 512);
  Tokens prompt = random_tokens(11, 7);
  prompt.insert(prompt.end(), text.begin() + 20, text.begin() + 25);
  EXPECT_EQ(recite(memory, prompt), Tokens(text.begin() + 25, text.end()));
}

TEST(Recital, RefusesATokenOutsideTheVocabulary) {
  const TextMemory memory = memory_of({random_tokens(60, 1)}, 128);
  const LikelihoodDecoder decoder = decoder_of(memory);
  const Tokens prompt = {1, 2, 3, kSmallVocabulary};
  Recital recital(memory, decoder, prompt, std::nullopt);
  EXPECT_THROW(recital.next(), UsageError);
}

}  // namespace
}  // namespace tessera::memo
