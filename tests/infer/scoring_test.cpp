#include "tessera/infer/scoring.h"

#include <gtest/gtest.h>

#include <csignal>

#include "tessera/base/error.h"
#include "tessera/base/interrupt.h"
#include "tests/infer/tiny_models.h"

namespace tessera {
namespace {

using test::kVocabulary;
using test::kWindow;
using test::recomputed;
using test::some_text;

double log_probability(LanguageModel& model, const Tokens& before, int64_t token,
                       size_t window = SIZE_MAX) {
  return recomputed(model, before, window).log_softmax(-1)[token].item<double>();
}

TEST(Scoring, EveryTokenIsScoredGivenThoseBeforeIt) {
  const auto model = test::tiny_mosaic();
  const std::vector<Tokens> texts = {some_text(5, 1), some_text(2 * kWindow, 2), {3}, {}};
  const auto scores = score_texts(*model, texts, {2, {}});
  ASSERT_EQ(scores.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(scores[i].size(), texts[i].size());
    for (size_t t = 0; t < texts[i].size(); ++t) {
      const ScoredToken& score = scores[i][t];
      EXPECT_EQ(score.token, texts[i][t]);
      EXPECT_EQ(score.log_probability.has_value(), t > 0);
      if (t == 0) continue;
      const Tokens before(texts[i].begin(), texts[i].begin() + t);
      EXPECT_NEAR(*score.log_probability, log_probability(*model, before, texts[i][t]), 1e-4);
      ASSERT_EQ(score.alternatives.size(), 2u);
      EXPECT_EQ(score.greedy, score.alternatives[0].token == score.token);
      EXPECT_EQ(score.greedy, score.alternatives[0].log_probability == *score.log_probability);
    }
  }
}

TEST(Scoring, TheFirstChoiceAfterATextIsScoredLikeItsTokens) {
  for (const auto& model : {test::tiny_mosaic(), test::tiny_gpt(Positions::kLearned)}) {
    const std::vector<Tokens> texts = {some_text(3, 1), some_text(kWindow, 2), {4}, {}};
    ScoringOptions options;
    options.alternatives = 2;
    const auto plain = score_texts(*model, texts, options);
    options.predict_next = true;
    const auto scores = score_texts(*model, texts, options);
    EXPECT_TRUE(scores[3].empty());
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(scores[i].size(), texts[i].size() + 1);
      for (size_t t = 1; t < texts[i].size(); ++t)
        EXPECT_NEAR(*scores[i][t].log_probability, *plain[i][t].log_probability,
                    1e-5);  // other batch, other sums
      const ScoredToken& next = scores[i].back();
      const at::Tensor logits = recomputed(*model, texts[i], kWindow);
      EXPECT_EQ(next.token, logits.argmax().item<int64_t>());
      EXPECT_TRUE(next.greedy);
      EXPECT_NEAR(*next.log_probability, logits.log_softmax(-1).max().item<double>(), 1e-5);
    }
  }
  const auto model = test::tiny_mosaic();
  EXPECT_THROW(score_texts(*model, {{3, -1}}), UsageError);
}

TEST(Scoring, PartByPartGivesTheSameScores) {
  for (const auto& model : {test::tiny_mosaic(), test::tiny_gpt(Positions::kLearned)}) {
    const std::vector<Tokens> texts = {
        some_text(3, 1), some_text(5 * kWindow, 2), {4}, {}, some_text(kWindow, 3),
        some_text(7, 4)};
    ScoringOptions options;
    options.alternatives = 1;
    options.predict_next = true;
    const auto whole = score_texts(*model, texts, options);
    for (const int64_t tokens : {1, 3, 16, 1000}) {
      TextScorer scorer(*model, texts, options);
      int parts = 1;
      while (!scorer.advance(tokens)) ++parts;
      EXPECT_TRUE(scorer.advance(tokens));
      EXPECT_EQ(parts == 1, tokens == 1000);
      const auto scores = std::move(scorer).scores();
      ASSERT_EQ(scores.size(), texts.size());
      for (size_t i = 0; i < texts.size(); ++i) {
        ASSERT_EQ(scores[i].size(), whole[i].size()) << i;
        for (size_t t = 1; t < whole[i].size(); ++t) {
          EXPECT_EQ(scores[i][t].token, whole[i][t].token);
          EXPECT_NEAR(*scores[i][t].log_probability, *whole[i][t].log_probability, 1e-5);
        }
      }
    }
  }
}

TEST(Scoring, APartIsOfAtLeastOneToken) {
  const auto model = test::tiny_mosaic();
  TextScorer scorer(*model, {some_text(5, 1)}, {});
  int parts = 1;
  while (parts < 100 && !scorer.advance(0)) ++parts;
  EXPECT_EQ(parts, 4);
}

TEST(Scoring, TextsPastTheWindowAreReadInOverlappingWindows) {
  const auto model = test::tiny_gpt(Positions::kLearned);
  const Tokens text = some_text(2 * kWindow + 3, 1);
  const auto scores = score_texts(*model, {text})[0];
  ASSERT_EQ(scores.size(), text.size());
  // Windows read tokens 0..7, 5..12, 10..17 and score 1..8, 9..13, 14..18: each but the first
  // begins half a window before the first token that it scores.
  size_t start = 0, scored_to = kWindow;
  for (size_t t = 1; t < text.size(); ++t) {
    if (t > scored_to) {
      start = t - kWindow / 2;
      scored_to = start + kWindow;
    }
    const Tokens before(text.begin() + start, text.begin() + t);
    EXPECT_NEAR(*scores[t].log_probability, log_probability(*model, before, text[t]), 1e-4) << t;
  }
}

TEST(Scoring, AContinuationHasTheSumOfItsTokens) {
  const auto model = test::tiny_mosaic();
  const std::vector<Continuation> requests = {
      {some_text(4, 1), some_text(3, 2)}, {{5}, {6}}, {some_text(20, 3), {}}};
  const auto scores = score_continuations(*model, requests);
  ASSERT_EQ(scores.size(), 3u);
  for (size_t i = 0; i < requests.size(); ++i) {
    Tokens before = requests[i].context;
    double sum = 0;
    for (int64_t token : requests[i].continuation) {
      sum += log_probability(*model, before, token);
      before.push_back(token);
    }
    EXPECT_NEAR(scores[i].log_probability, sum, 1e-4);
    EXPECT_EQ(scores[i].tokens.size(), requests[i].continuation.size());
  }
  EXPECT_TRUE(scores[2].greedy);
}

TEST(Scoring, AGreedyContinuationIsWhatGreedyDecodingWrites) {
  const auto model = test::tiny_mosaic();
  const Tokens context = some_text(6, 1);
  const int64_t best = recomputed(*model, context).argmax().item<int64_t>();
  const auto scores =
      score_continuations(*model, {{context, {best}}, {context, {(best + 1) % kVocabulary}}});
  EXPECT_TRUE(scores[0].greedy);
  EXPECT_FALSE(scores[1].greedy);
}

TEST(Scoring, TheOldestContextMakesRoomInAWindow) {
  const auto model = test::tiny_gpt(Positions::kLearned);
  const Tokens context = some_text(2 * kWindow, 1);
  const auto score = score_continuations(*model, {{context, {4}}})[0];
  EXPECT_NEAR(score.log_probability, log_probability(*model, context, 4, kWindow), 1e-4);
  const Tokens longest = some_text(kWindow, 2);
  EXPECT_EQ(score_continuations(*model, {{context, longest}})[0].tokens.size(), longest.size());
  EXPECT_THROW(score_continuations(*model, {{context, some_text(kWindow + 1, 2)}}), UsageError);
}

TEST(Scoring, ABatchChangesNothing) {
  const auto model = test::tiny_mosaic();
  std::vector<Tokens> texts;
  for (int64_t i = 0; i < 40; ++i) texts.push_back(some_text(1 + 11 * i % 300, i));
  const auto together = score_texts(*model, texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto alone = score_texts(*model, {texts[i]})[0];
    for (size_t t = 1; t < alone.size(); ++t)
      ASSERT_NEAR(*alone[t].log_probability, *together[i][t].log_probability, 1e-4);
  }
}

TEST(Scoring, RefusesAnEmptyContextAndForeignTokens) {
  const auto model = test::tiny_mosaic();
  EXPECT_THROW(score_continuations(*model, {{{}, {1}}}), UsageError);
  EXPECT_THROW(score_texts(*model, {{1, kVocabulary, 2}}), UsageError);
  EXPECT_THROW(score_texts(*model, {{1, kVocabulary}}), UsageError);
}

TEST(Scoring, LongTextsAreReadPartByPart) {
  const auto model = test::tiny_mosaic();
  const Tokens text = some_text(4 * kPieceTokens + 5, 1);
  const auto scores = score_texts(*model, {some_text(9, 2), text})[1];
  ASSERT_EQ(scores.size(), text.size());
  for (size_t t : {size_t{1}, size_t{kPieceTokens}, size_t{kPieceTokens + 1}, text.size() - 1}) {
    const Tokens before(text.begin(), text.begin() + t);
    EXPECT_EQ(scores[t].token, text[t]);
    EXPECT_NEAR(*scores[t].log_probability, log_probability(*model, before, text[t]), 1e-4) << t;
  }
  const Tokens context(text.begin(), text.end() - 3), last(text.end() - 3, text.end());
  const auto continuation = score_continuations(*model, {{context, last}})[0];
  ASSERT_EQ(continuation.tokens.size(), 3u);
  for (size_t t = 0; t < 3; ++t)
    EXPECT_NEAR(*continuation.tokens[t].log_probability,
                *scores[text.size() - 3 + t].log_probability, 1e-4);
}

TEST(Scoring, ASignalEndsItBetweenTwoBatches) {
  const auto model = test::tiny_mosaic();
  {
    InterruptGuard guard;
    std::raise(SIGTERM);
    EXPECT_EQ(score_texts(*model, {some_text(9, 1)}).size(), 1u) << "a single batch";
    EXPECT_THROW(score_texts(*model, {some_text(4000, 1), some_text(4000, 2)}), Interrupted);
    EXPECT_THROW(score_texts(*model, {some_text(4200, 1)}), Interrupted);
  }
}

}  // namespace
}  // namespace tessera
