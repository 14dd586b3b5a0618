#include "tessera/sampling/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

const std::vector<float> kLogits = {std::log(0.5f), std::log(0.3f), std::log(0.15f),
                                    std::log(0.05f)};
constexpr int64_t kDraws = 20000;

/// Shares of the tokens in many draws; the length of the context numbers the draw.
std::vector<double> shares(const std::vector<float>& logits, const SamplingOptions& options,
                           uint64_t sequence = 0, int64_t draws = kDraws) {
  const std::vector<int64_t> context(draws, 0);
  std::vector<double> result(logits.size(), 0.0);  // counts, at first
  for (int64_t draw = 0; draw < draws; ++draw)
    result[draw_token(logits, std::span(context).first(draw), options, sequence).token] += 1;
  for (double& share : result) share /= static_cast<double>(draws);
  return result;
}

/// Within five standard deviations of a share.
void expect_shares(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t token = 0; token < found.size(); ++token) {
    const double p = expected[token];
    EXPECT_NEAR(found[token], p, 5 * std::sqrt(p * (1 - p) / kDraws)) << "token " << token;
  }
}

/// Many draws from kLogits have these shares.
void expect_drawn(const SamplingOptions& options, const std::vector<double>& expected) {
  SCOPED_TRACE(testing::Message() << "temperature " << options.temperature << ", top_k "
                                  << options.top_k << ", top_p " << options.top_p << ", min_p "
                                  << options.min_p);
  expect_shares(shares(kLogits, options), expected);
}

TEST(Sampling, DrawsFromTheModelsDistribution) {
  expect_drawn({}, {0.5, 0.3, 0.15, 0.05});
}

TEST(Sampling, TemperatureSharpensAndFlattens) {
  // Squares, divided by their sum 0.365.
  expect_drawn({.temperature = 0.5}, {0.25 / 0.365, 0.09 / 0.365, 0.0225 / 0.365, 0.0025 / 0.365});
  expect_drawn({.temperature = 1e6}, {0.25, 0.25, 0.25, 0.25});
}

TEST(Sampling, TopKAndTopPCutTheTail) {
  expect_drawn({.top_k = 2}, {0.625, 0.375, 0, 0});
  expect_drawn({.top_k = 100}, {0.5, 0.3, 0.15, 0.05});
  expect_drawn({.top_p = 0.79}, {0.625, 0.375, 0, 0});  // 0.5 < 0.79 <= 0.5 + 0.3
  expect_drawn({.top_p = 0.81}, {0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0});
  expect_drawn({.top_p = 1e-9}, {1, 0, 0, 0});
  // Of the two, the first has 0.625.
  expect_drawn({.top_k = 2, .top_p = 0.62}, {1, 0, 0, 0});
  expect_drawn({.top_k = 2, .top_p = 0.63}, {0.625, 0.375, 0, 0});
}

TEST(Sampling, ANucleusMayBeWide) {
  const std::vector<float> flat(5000, 1.0f);
  SamplingOptions options;
  options.top_p = 0.4999;
  const std::vector<double> found = shares(flat, options, 0, 2500);
  for (int64_t token = 2500; token < 5000; ++token) EXPECT_EQ(found[token], 0) << token;
  EXPECT_GT(std::count_if(found.begin(), found.end(), [](double share) { return share > 0; }),
            1500);  // of 2500, of which each is missed with probability 1 / e: 1580
}

TEST(Sampling, ZeroTemperatureTakesTheBestAndOfEqualsTheLowest) {
  SamplingOptions options;
  options.temperature = 0;
  const ScoredToken best = draw_token(std::vector<float>{1, 3, 2, 3}, {}, options, 0);
  EXPECT_EQ(best.token, 1);
  EXPECT_TRUE(best.greedy);
  EXPECT_EQ(draw_token(std::vector<float>{-2}, {}, options, 0).token, 0);
}

TEST(Sampling, RepetitionPenaltyDividesPositiveLogitsAndMultipliesNegativeOnes) {
  SamplingOptions options{.temperature = 0, .repetition_penalty = 2};
  const std::vector<int64_t> context = {0, 0, 2};
  // 3 / 2 once, though token 0 stands twice in the context.
  EXPECT_EQ(draw_token(std::vector<float>{3.0, 1.4, 2.0}, context, options, 0).token, 0);
  EXPECT_EQ(draw_token(std::vector<float>{3.0, 1.6, 2.0}, context, options, 0).token, 1);
  EXPECT_EQ(draw_token(std::vector<float>{-1.0, -1.9, -3.0}, context, options, 0).token, 1);
  EXPECT_EQ(draw_token(std::vector<float>{-1.0, -2.1, -3.0}, context, options, 0).token, 0);
  const ScoredToken token = draw_token(std::vector<float>{3.0, 1.6, 2.0}, context, options, 0);
  EXPECT_FALSE(token.greedy);
  EXPECT_NEAR(*token.log_probability, 1.6 - std::log(std::exp(3.0) + std::exp(1.6) + std::exp(2.0)),
              1e-6);
  options.temperature = 1;
  const std::vector<int64_t> foreign = {3};
  EXPECT_THROW(draw_token(std::vector<float>{3.0, 1.6, 2.0}, foreign, options, 0), UsageError);
}

TEST(Sampling, MinPKeepsWhatIsProbableBesideTheFirst) {
  // Of 0.5: 0.145 and more.
  expect_drawn({.min_p = 0.29}, {0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0});
  expect_drawn({.min_p = 0.31}, {0.625, 0.375, 0, 0});
  expect_drawn({.min_p = 1}, {1, 0, 0, 0});
  // After the temperature: 0.09 is 0.36 times 0.25, 0.0225 only 0.09 times.
  expect_drawn({.temperature = 0.5, .min_p = 0.31}, {0.25 / 0.34, 0.09 / 0.34, 0, 0});
  // Square roots: 0.5477 is 0.77 times 0.7071, 0.3873 0.55, 0.2236 0.316.
  const double sum = std::sqrt(0.5) + std::sqrt(0.3) + std::sqrt(0.15) + std::sqrt(0.05);
  expect_drawn({.temperature = 2, .min_p = 0.31}, {std::sqrt(0.5) / sum, std::sqrt(0.3) / sum,
                                                   std::sqrt(0.15) / sum, std::sqrt(0.05) / sum});
}

TEST(Sampling, EveryCutIsTakenOfWhatTheOneBeforeLeft) {
  // top_k leaves 0.5, 0.3, 0.15 of 0.95; 0.8 / 0.95 = 0.842 is enough, of all tokens 0.8 would not
  // be.
  expect_drawn({.top_k = 3, .top_p = 0.83}, {0.625, 0.375, 0, 0});
  // 0.3 is 0.6 times 0.5.
  expect_drawn({.top_k = 3, .top_p = 0.83, .min_p = 0.59}, {0.625, 0.375, 0, 0});
  expect_drawn({.top_k = 3, .top_p = 0.83, .min_p = 0.61}, {1, 0, 0, 0});
}

/// The share of two tokens of equal logits, of which the first has been lowered by `penalty`.
std::vector<double> lowered(double penalty) {
  const double weight = std::exp(-penalty);
  return {weight / (weight + 1), 1 / (weight + 1)};
}

/// Shares of two tokens of equal logits after this text, by many sequences.
std::vector<double> shares_after(const std::vector<int64_t>& text, const SamplingOptions& options,
                                 size_t prompt = 0) {
  std::vector<double> result(2, 0.0);  // counts, at first
  for (int64_t draw = 0; draw < kDraws; ++draw)
    result[draw_token(std::vector<float>{0.5f, 0.5f}, text, options, draw, prompt).token] += 1;
  for (double& share : result) share /= kDraws;
  return result;
}

TEST(Sampling, PenaltiesCountWhatWasGenerated) {
  expect_shares(shares_after({0, 0, 0}, {.presence_penalty = 0.7}), lowered(0.7));
  const SamplingOptions both = {.frequency_penalty = 0.2, .presence_penalty = 0.7};
  expect_shares(shares_after({0, 0, 0}, both), lowered(0.7 + 3 * 0.2));
  expect_shares(shares_after({0, 0, 0}, both, 2), lowered(0.7 + 0.2));  // two were given
  expect_shares(shares_after({0, 0, 0}, both, 3), lowered(0));
  expect_shares(shares_after({0, 0, 1}, both), lowered(0.2));
  expect_shares(shares_after({0}, {.presence_penalty = -0.7}), lowered(-0.7));
  EXPECT_THROW(shares_after({0}, both, 2), UsageError);
  EXPECT_THROW(shares_after({2}, both), UsageError);
}

TEST(Sampling, ABiasIsAddedFirst) {
  SamplingOptions options;
  options.logit_bias = {{0, -0.4}};
  expect_shares(shares_after({}, options), lowered(0.4));
  options.repetition_penalty = 2;  // (0.5 - 0.4) / 2
  expect_shares(shares_after({0}, options), lowered(0.45));
  options.frequency_penalty = 0.3;  // less 0.3, after the division
  expect_shares(shares_after({0}, options), lowered(0.75));
  options.temperature = 0.5;  // times 2, after all of it
  expect_shares(shares_after({0}, options), lowered(1.5));
  options.logit_bias = {{0, -INFINITY}};
  expect_shares(shares_after({0}, options), {0, 1});
  options.temperature = 0;
  EXPECT_EQ(draw_token(std::vector<float>{3, 1}, {}, options, 0).token, 1);
  options.logit_bias = {{0, -INFINITY}, {1, -INFINITY}};
  EXPECT_THROW(shares_after({}, options), UsageError);
  options.logit_bias = {{2, 1.0}};
  EXPECT_THROW(shares_after({}, options), UsageError);
}

TEST(Sampling, APenaltyOrABiasThatMakesALogitInfiniteOrNoNumberIsRefused) {
  EXPECT_THROW(shares_after({0}, {.repetition_penalty = 1e-300}), UsageError);
  const std::vector<float> logits = {0, -INFINITY, -1};
  const std::vector<int64_t> generated = {1, 1};
  const SamplingOptions infinite_as_a_float = {.logit_bias = {{1, 1e300}}};
  EXPECT_THROW(draw_token(logits, {}, infinite_as_a_float, 0), UsageError);
  EXPECT_THROW(draw_token(logits, generated, {.frequency_penalty = -1e308}, 0), UsageError);
}

TEST(Sampling, LogProbabilitiesAreTheModelsOwn) {
  SamplingOptions options{
      .temperature = 0.01, .top_k = 1, .logit_bias = {{1, -3.0}}, .alternatives = 3};
  const ScoredToken token = draw_token(kLogits, {}, options, 0);
  EXPECT_EQ(token.token, 0);
  EXPECT_NEAR(*token.log_probability, std::log(0.5), 1e-6);
  ASSERT_EQ(token.alternatives.size(), 3u);
  EXPECT_EQ(token.alternatives[0].log_probability, *token.log_probability);
  EXPECT_EQ(token.alternatives[2].token, 2);
  EXPECT_NEAR(token.alternatives[2].log_probability, std::log(0.15), 1e-6);
  options.alternatives = 9;
  EXPECT_EQ(draw_token(kLogits, {}, options, 0).alternatives.size(), 4u);
}

TEST(Sampling, ADrawIsAFunctionOfSeedSequenceAndPosition) {
  const std::vector<float> flat(1000, 0.0f);
  const std::vector<int64_t> zeros(8, 0), ones(8, 1);
  SamplingOptions options;
  const auto drawn = [&](uint64_t seed, uint64_t sequence, const std::vector<int64_t>& context) {
    options.seed = seed;
    return draw_token(flat, context, options, sequence).token;
  };
  EXPECT_EQ(drawn(1, 2, zeros), drawn(1, 2, ones));
  EXPECT_NE(drawn(1, 2, zeros), drawn(2, 2, zeros));
  EXPECT_NE(drawn(1, 2, zeros), drawn(1, 3, zeros));
  EXPECT_NE(drawn(1, 2, zeros), drawn(1, 2, {0, 0, 0}));
}

TEST(Sampling, AnImpossibleTokenNeverComes) {
  const std::vector<float> logits = {-INFINITY, 0.0f, -INFINITY};
  expect_shares(shares(logits, {}), {0, 1, 0});
  EXPECT_EQ(*draw_token(logits, {}, {}, 0).log_probability, 0);
}

TEST(Sampling, LogitsThatAreNoNumbersAreRefused) {
  for (const float bad : {NAN, static_cast<float>(INFINITY)}) {
    const std::vector<float> logits = {0, 1, bad};
    EXPECT_THAT(test::message_of<std::runtime_error>([&] { draw_token(logits, {}, {}, 0); }),
                testing::HasSubstr("logit of token 2"));
  }
  EXPECT_THROW(draw_token(std::vector<float>{-INFINITY}, {}, {}, 0), UsageError);
  EXPECT_THROW(draw_token({}, {}, {}, 0), UsageError);
}

TEST(Sampling, RefusesBadOptions) {
  const auto refused = [](auto change) {
    SamplingOptions options;
    change(options);
    EXPECT_THROW(options.check(), UsageError);
    EXPECT_THROW(draw_token(kLogits, {}, options, 0), UsageError);
  };
  refused([](auto& options) { options.temperature = -0.1; });
  refused([](auto& options) { options.temperature = NAN; });
  refused([](auto& options) { options.temperature = INFINITY; });
  refused([](auto& options) { options.top_k = -1; });
  refused([](auto& options) { options.top_p = 0; });
  refused([](auto& options) { options.top_p = 1.01; });
  refused([](auto& options) { options.min_p = -0.1; });
  refused([](auto& options) { options.min_p = 1.1; });
  refused([](auto& options) { options.min_p = NAN; });
  refused([](auto& options) { options.repetition_penalty = 0; });
  refused([](auto& options) { options.frequency_penalty = NAN; });
  refused([](auto& options) { options.presence_penalty = INFINITY; });
  refused([](auto& options) { options.logit_bias = {{1, INFINITY}}; });
  refused([](auto& options) { options.logit_bias = {{1, NAN}}; });
  refused([](auto& options) { options.alternatives = -1; });
}

TEST(TokenDistribution, RefusesATokenOutsideTheVocabulary) {
  const TokenDistribution distribution(kLogits);
  EXPECT_THROW(distribution.log_probability(4), UsageError);
  EXPECT_THROW(distribution.log_probability(-1), UsageError);
}

TEST(TokenDistribution, EqualAlternativesComeByTheirIds) {
  const std::vector<float> logits = {1, 2, 1, 2, 1};
  std::vector<int64_t> ids;
  for (const auto& choice : TokenDistribution(logits).most_probable(4)) ids.push_back(choice.token);
  EXPECT_EQ(ids, (std::vector<int64_t>{1, 3, 0, 2}));
}

}  // namespace
}  // namespace tessera
