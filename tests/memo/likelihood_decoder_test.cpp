#include "tessera/memo/likelihood_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/error.h"
#include "tessera/base/random.h"
#include "tessera/memo/text_reader.h"

namespace tessera::memo {
namespace {

/// Scores of windows of these lengths, one of the rows each.
WindowScores scores_of(const std::vector<int64_t>& lengths, const std::vector<float>& rows) {
  WindowScores scores;
  scores.reset(lengths, std::ssize(rows) / std::ssize(lengths));
  std::ranges::copy(rows, scores.window(0).data());
  return scores;
}

/// Of a context that fills no window.
WindowScores no_scores(int64_t vocabulary) {
  WindowScores scores;
  scores.reset({}, vocabulary);
  return scores;
}

TEST(WindowScores, HaveTheNoiseThatIsSet) {
  WindowScores scores = scores_of({4, 8}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(scores.noise(1), 0);
  scores.set_noise(1, 2.0);
  EXPECT_EQ(scores.noise(1), 2.0);
  EXPECT_EQ(scores.noise(0), 0);
}

TEST(ByScore, TakesTheLargestSum) {
  const NextToken next = by_score(scores_of({4, 16}, {0.5f, 1.25f, 0, 1, 0.5f, 0}), 0.25);
  EXPECT_EQ(next.token, 1);
  EXPECT_DOUBLE_EQ(next.score, 1.75);
  EXPECT_TRUE(next.recalled);
  EXPECT_EQ(next.matched_length, 16);
  EXPECT_EQ(next.window_scores, (std::vector<float>{1.25f, 0.5f}));
  // exp((s - 1) / (1/16)) / 3 for the tokens' sums 1.5, 1.75 and 0, and 1 + their sum
  const double a = std::exp(8.0) / 3, b = std::exp(12.0) / 3, c = std::exp(-16.0) / 3;
  EXPECT_NEAR(next.probability, (b + 1.0 / 3) / (1 + a + b + c), 1e-12);
}

TEST(ByScore, AbstainsBelowTheLargestNoise) {
  // sqrt(2 * 1 * ln 3) = 1.48
  EXPECT_FALSE(by_score(scores_of({4}, {0, 1.4f, 0}), 1).recalled);
  EXPECT_TRUE(by_score(scores_of({4}, {0, 1.5f, 0}), 1).recalled);
  const NextToken nothing = by_score(no_scores(3), 0);
  EXPECT_FALSE(nothing.recalled);
  EXPECT_EQ(nothing.matched_length, 0);
  EXPECT_NEAR(nothing.probability, 1.0 / 3, 1e-12);
  EXPECT_FALSE(by_score(scores_of({4}, {0, 0, 0}), 0).recalled);
}

TEST(LikelihoodDecoder, PosteriorByHand) {
  const LikelihoodDecoder decoder({1, 3}, 0.5, 0.01);
  const auto scores = scores_of({2, 4}, {1, 0.5f, 0.25f, 0.5f});
  // L: token 0: e^(0.5 / 0.25) = e^2, then e^(2 - 1); token 1: 1, 1
  const double z0 = 1 + 0.1 * 0.25 * std::exp(2), z1 = 1 + 0.1 * 0.75, b = std::exp(-0.1) * z0 * z1;
  const double m0 = 0.1 * 0.25 * std::exp(2) + 0.9 * b * 0.25 * std::exp(1) / z0;
  const double m1 = 0.1 * 0.75 + 0.9 * b * 0.75 / z1;
  auto p = decoder.log_probabilities(scores);
  for (double& value : p) value = std::exp(value);
  EXPECT_NEAR(p[0], (m0 + 0.25) / (1 + m0 + m1), 1e-12);
  EXPECT_NEAR(p[1], (m1 + 0.75) / (1 + m0 + m1), 1e-12);
  const NextToken next = decoder.best(scores);
  EXPECT_EQ(next.token, m0 > m1 ? 0 : 1);
  EXPECT_NEAR(next.probability, p[next.token], 1e-12);
  EXPECT_NEAR(next.evidence, std::log(m0 + m1), 1e-12);
  EXPECT_FALSE(next.recalled);        // M is below 100
  EXPECT_EQ(next.matched_length, 4);  // but above 1
}

TEST(LikelihoodDecoder, BacksOffToTheWindowsThatWereStored) {
  const LikelihoodDecoder decoder({1, 1, 1}, 0.1, 1e-3);
  const NextToken whole = decoder.best(scores_of({4, 16}, {0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(whole.token, 1);
  EXPECT_TRUE(whole.recalled);
  EXPECT_EQ(whole.matched_length, 16);
  EXPECT_NEAR(whole.score, 2, 1e-6);
  EXPECT_NEAR(whole.probability, 1, 1e-9);
  const NextToken part = decoder.best(scores_of({4, 16}, {0, 1, 0, 0.1f, -0.1f, 0.1f}));
  EXPECT_EQ(part.token, 1);
  EXPECT_TRUE(part.recalled);
  EXPECT_EQ(part.matched_length, 4);
  EXPECT_NEAR(part.score, 1, 1e-6);
}

TEST(LikelihoodDecoder, ManyShortMatchesDoNotOutvoteOneLongOne) {
  const LikelihoodDecoder decoder({1, 1, 1}, 0.1, 1e-3);
  // Token 0 followed the short window in seven documents, token 1 the long one in one.
  const NextToken next = decoder.best(scores_of({4, 16}, {7, 1, 0, 0, 1, 0}));
  EXPECT_EQ(next.token, 1);
  EXPECT_EQ(next.matched_length, 16);
  EXPECT_GT(next.probability, 0.99);
  // Where one vote of a short window would not do, its seven tell that it was stored.
  const LikelihoodDecoder noisy({1, 1, 1}, 0.3, 1e-3);
  EXPECT_FALSE(noisy.best(scores_of({4, 16}, {1, 0, 0, 0, 0, 0})).recalled);
  const NextToken often = noisy.best(scores_of({4, 16}, {7, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(often.recalled);
  EXPECT_EQ(often.token, 0);
  EXPECT_EQ(often.matched_length, 4);
}

TEST(LikelihoodDecoder, TheLongerWindowDecidesBetweenTokensOfTheShorterOne) {
  // Both followed the short window; noise makes the wrong one's sum the larger.
  const auto scores = scores_of({4, 16}, {1.7f, 0.7f, 0, 0.4f, 0.9f, 0});
  EXPECT_EQ(by_score(scores, 0.2).token, 0);
  const NextToken next = LikelihoodDecoder({1, 1, 1}, 0.2, 1e-3).best(scores);
  EXPECT_EQ(next.token, 1);
  EXPECT_EQ(next.matched_length, 16);
}

TEST(LikelihoodDecoder, AWindowThatIsNoisierThanTheMeanCountsLess) {
  const LikelihoodDecoder decoder({1, 1, 1}, 0.2, 1e-3);
  WindowScores scores = scores_of({4, 8}, {0.9F, 0.5F, 0, 0, 0.9F, 0});
  EXPECT_EQ(decoder.best(scores).token, 1);
  scores.set_noise(1, 2.0);
  EXPECT_EQ(decoder.best(scores).token, 0);
  scores.set_noise(1, 0.01);
  EXPECT_EQ(decoder.best(scores).token, 1) << "less than the mean is chance";
}

TEST(LikelihoodDecoder, MeanOfTheMixtureIsOneAtMostWhereNothingWasStored) {
  constexpr int kTokens = 20, kDraws = 20000;
  const LikelihoodDecoder decoder(std::vector<double>(kTokens, 1.0), 1.0, 1e-3);
  RandomStream random(7);
  double mean = 0;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<float> noise(3 * kTokens);
    for (float& score : noise) score = static_cast<float>(random.normal());
    mean += std::exp(decoder.best(scores_of({4, 8, 16}, noise)).evidence) / kDraws;
  }
  EXPECT_GT(mean, 0.95);
  EXPECT_LT(mean, 1.02);
}

TEST(LikelihoodDecoder, WithoutEvidenceThePriorSpeaks) {
  const LikelihoodDecoder decoder({1, 2, 1}, 0, 0.5);
  for (const auto& scores : {no_scores(3), scores_of({4}, {0, 0, 0})}) {
    const NextToken next = decoder.best(scores);
    EXPECT_EQ(next.token, 1);
    EXPECT_FALSE(next.recalled);
    EXPECT_EQ(next.matched_length, 0);
    EXPECT_NEAR(next.probability, 0.5, 1e-12);
  }
}

TEST(LikelihoodDecoder, ProbabilitiesSumToOneAlsoFarFromZero) {
  const LikelihoodDecoder decoder({1, 5, 2}, 0.001, 1e-6);
  for (const float s : {-1.0f, 0.0f, 0.4f, 0.6f, 1.0f, 3.0f}) {
    double sum = 0;
    for (const double log : decoder.log_probabilities(scores_of({4, 16}, {s, 0, .5f, .5f, s, 0}))) {
      EXPECT_TRUE(std::isfinite(log)) << s;
      sum += std::exp(log);
    }
    EXPECT_NEAR(sum, 1, 1e-9) << s;
  }
}

TEST(LikelihoodDecoder, DepthsOfOneTokenByHand) {
  const LikelihoodDecoder decoder({1, 3}, 0.5, 0.01);
  const WindowScores scores = scores_of({2, 4}, {1, 0.5f, 0.25f, 0.5f});
  const auto with_one = decoder.depths(scores, 1, 100), with_two = decoder.depths(scores, 2, 100);
  ASSERT_EQ(with_one.size(), 2u);
  ASSERT_EQ(with_two.size(), 2u);
  EXPECT_EQ(with_one[0].token, 0);
  // pi L: e^2 / 4 with one window, e / 4 with two; 1 and 0.1 tokens are expected so.
  const double one = std::exp(2) / 4, two = std::exp(1) / 4, all = 1 + one + 0.1 * two;
  EXPECT_NEAR(with_one[0].log_probability, std::log((one + 0.1 * two) / all), 1e-12);
  EXPECT_NEAR(with_two[0].log_probability, std::log(0.1 * two / all), 1e-12);
  EXPECT_NEAR(with_one[0].evidence, std::log(one), 1e-12);
  EXPECT_NEAR(with_two[0].evidence, std::log(two / (1 + one)), 1e-12);
  EXPECT_NEAR(LikelihoodDecoder::log_expected(3), std::log(0.01), 1e-12);
  EXPECT_TRUE(LikelihoodDecoder({1, 3}, 0, 0.01).depths(scores_of({2}, {1, 0}), 1, 8).empty());
}

TEST(LikelihoodDecoder, DepthsNearTheBestAreThoseOfAllThatAreNear) {
  RandomStream random(9);
  constexpr size_t kTokens = 300;
  std::vector<float> scores(3 * kTokens);
  for (float& score : scores) score = static_cast<float>(0.3 * random.normal());
  for (const size_t y : {7, 8, 9})
    for (size_t i = 0; i < 3; ++i) scores[i * kTokens + y] += 1;
  const LikelihoodDecoder decoder(std::vector<double>(kTokens, 1.0), 0.3, 0.01);
  for (const int64_t m : {1, 2, 3}) {
    auto expected = decoder.depths(scores_of({4, 8, 16}, scores), m, 1000);
    const auto best = std::ranges::max_element(expected, {}, [](const auto& depth) {
                        return depth.log_probability;
                      })->log_probability;
    const size_t all = expected.size();
    std::erase_if(expected, [&](const auto& depth) { return depth.log_probability <= best - 4; });
    const auto near = decoder.depths(scores_of({4, 8, 16}, scores), m, 4);
    EXPECT_LT(near.size(), all);
    ASSERT_EQ(near.size(), expected.size());
    for (size_t i = 0; i < near.size(); ++i) {
      EXPECT_EQ(near[i].token, expected[i].token);
      EXPECT_EQ(near[i].log_probability, expected[i].log_probability);
    }
  }
}

TEST(LikelihoodDecoder, WhatWasStoredWithEachLengthByHand) {
  const LikelihoodDecoder decoder({1, 3}, 0.5, 0.01);
  const std::vector<double> log_prior = {std::log(0.75), std::log(0.25)};  // not the decoder's
  const auto found = decoder.by_length(scores_of({2, 4}, {1, 0.5f, 0.25f, 0.5f}), log_prior);
  ASSERT_EQ(found.size(), 2u);
  // As in PosteriorByHand, L: e^2, e for token 0, and 1, 1 for token 1.
  const double z0 = 1 + 0.1 * 0.75 * std::exp(2), z1 = 1 + 0.1 * 0.25, b = std::exp(-0.1) * z0 * z1;
  const double first0 = 0.75 * std::exp(2), first1 = 0.25;
  const double second0 = 0.75 * std::exp(1) / z0, second1 = 0.25 / z1;
  EXPECT_EQ(found[0].length, 2);
  EXPECT_EQ(found[1].length, 4);
  EXPECT_NEAR(found[0].log_ratio, std::log(first0 + first1), 1e-12);
  EXPECT_NEAR(found[1].log_ratio, std::log(b * (second0 + second1)), 1e-12);
  const double share = first0 / (1 + first0), other = first1 / (1 + first1);
  ASSERT_EQ(found[0].tokens.size(), 2u);
  EXPECT_EQ(found[0].tokens[0].first, 0);
  EXPECT_NEAR(found[0].tokens[0].second, share / (share + other), 1e-12);
  EXPECT_NEAR(found[0].tokens[0].second + found[0].tokens[1].second, 1, 1e-12);
}

TEST(LikelihoodDecoder, WhatWasStoredWithALengthMayBeLessLikelyThanAnyNumber) {
  const LikelihoodDecoder decoder({1, 1}, 0.01, 0.01);
  const std::vector<double> uniform(2, std::log(0.5));
  const auto found = decoder.by_length(scores_of({2, 4}, {0, 0, 1.5f, 1.5f}), uniform);
  ASSERT_EQ(found.size(), 2u);
  for (const auto& stored : found)
    for (const auto& [token, share] : stored.tokens) EXPECT_EQ(share, 0.5) << token;
}

TEST(LikelihoodDecoder, SeveralTokensOfOneWindowShareEqually) {
  const LikelihoodDecoder decoder({1, 1, 1, 1}, 0.1, 0.01);
  const std::vector<double> uniform(4, std::log(0.25));
  const auto scores = scores_of({4, 16}, {1, 7, 0, 0, 0, 0, 0, 0});  // 7: in seven documents
  const auto found = decoder.by_length(scores, uniform);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_GT(found[0].log_ratio, 10);
  EXPECT_NEAR(found[0].tokens[0].second, 0.5, 1e-3);
  EXPECT_NEAR(found[0].tokens[1].second, 0.5, 1e-3);
  EXPECT_THROW(decoder.by_length(scores, std::vector<double>(3)), UsageError);
}

TEST(LikelihoodDecoder, RefusesBadArguments) {
  EXPECT_THROW(LikelihoodDecoder({1, 0}, 1, 0.1), UsageError);
  EXPECT_THROW(LikelihoodDecoder({1, NAN}, 1, 0.1), UsageError);
  EXPECT_THROW(LikelihoodDecoder({1}, -1, 0.1), UsageError);
  EXPECT_THROW(LikelihoodDecoder({1}, NAN, 0.1), UsageError);
  for (const double rate : {0.0, 1.0, -0.5})
    EXPECT_THROW(LikelihoodDecoder({1}, 1, rate), UsageError);
  const LikelihoodDecoder of_two({1, 1}, 1, 0.1);
  EXPECT_THROW(of_two.best(scores_of({4}, {0, 0, 0})), UsageError);
  EXPECT_THROW(of_two.depths(scores_of({4}, {0}), 1, 8), UsageError);
}

}  // namespace
}  // namespace tessera::memo
