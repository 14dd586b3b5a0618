// What is the GPT's own: where a token stands. What every language model promises is held by
// model_forms_test.cpp.

#include "tessera/model/gpt.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "tessera/base/error.h"
#include "tests/model/model_checks.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/slow_reads.h"

namespace tessera {
namespace {

constexpr Positions kAll[] = {Positions::kLearned, Positions::kRotary, Positions::kAlibi};

GptConfig small_gpt(Positions positions, int64_t heads = 3, int64_t channels = 12) {
  return {.vocabulary = 11,
          .window = 8,
          .layers = 2,
          .heads = heads,
          .channels = channels,
          .positions = positions};
}

/// A block in doubles whose feed-forward layer adds nothing and whose queries, keys and values are
/// the normalised input.
GptBlock attention_alone(const GptConfig& config) {
  at::NoGradGuard no_grad;
  GptBlock block(config, at::kCPU);
  block->to(at::kDouble);
  const at::Tensor identity = at::eye(config.channels, at::kDouble);
  block->query_key_value->weight.copy_(at::cat({identity, identity, identity}));
  block->attention_output->weight.copy_(identity);
  block->contract->weight.zero_();
  return block;
}

/// The second of two tokens (1, -1), (-1, 1), read by one head: what stands there by hand. scores:
/// of the first and of the second token.
double second_read(double first_score, double second_score) {
  const double first = std::exp(first_score), second = std::exp(second_score);
  return (first * 1 + second * -1) / (first + second);
}

/// The first channel of what the block's attention adds at the second token.
double second_addition(Positions positions) {
  at::NoGradGuard no_grad;
  GptBlock block = attention_alone(small_gpt(positions, 1, 2));
  const at::Tensor x = at::tensor({1.0, -1.0, -1.0, 1.0}, at::kDouble).view({1, 2, 2}) * 1e3;
  return (block->forward(x, {}) - x)[0][1][0].item<double>();
}

TEST(GptBlock, ATokenKnowsItsPlaceByHand) {
  // Normalised, the tokens are q = k = v = (1, -1) and (-1, 1); scores are q . k / sqrt(2).
  const double root = std::sqrt(2.0), tolerance = 1e-9;  // the norm's epsilon is 1e-5 / 1e6
  EXPECT_NEAR(second_addition(Positions::kLearned), second_read(-2 / root, 2 / root), tolerance);
  // The query is turned by 1 radian, the first key not at all.
  EXPECT_NEAR(second_addition(Positions::kRotary), second_read(-2 * std::cos(1.0) / root, 2 / root),
              tolerance);
  // One head: a slope of 2^-8.
  EXPECT_NEAR(second_addition(Positions::kAlibi), second_read(-2 / root - 1.0 / 256, 2 / root),
              tolerance);
}

/// Turned where positions are rotary. heads [B, T, H, D]
at::Tensor placed(const at::Tensor& heads, const GptConfig& config) {
  if (config.positions != Positions::kRotary) return heads;
  return test::slow_rotary(heads, std::vector<int64_t>(heads.size(0), 0));
}

/// The block from its equations, one read after the other.
at::Tensor loop(GptBlock block, const GptConfig& config, const at::Tensor& x) {
  const int64_t B = x.size(0), T = x.size(1), H = config.heads, D = config.channels / H;
  std::vector<double> slopes;  // of three heads
  if (config.positions == Positions::kAlibi) slopes = {1.0 / 16, 1.0 / 256, 1.0 / 4};
  const auto parts =
      at::linear(block->attention_norm->forward(x), block->query_key_value->weight).chunk(3, -1);
  const at::Tensor q = placed(parts[0].view({B, T, H, D}), config);
  const at::Tensor k = placed(parts[1].view({B, T, H, D}), config);
  const at::Tensor v = parts[2].view({B, T, H, D});
  const at::Tensor reads = test::slow_causal_read(q, k, v, 1 / std::sqrt(D), 0, slopes);
  const at::Tensor y = x + at::linear(reads.flatten(2), block->attention_output->weight);
  return y + at::linear(
                 at::gelu(at::linear(block->feed_forward_norm->forward(y), block->expand->weight)),
                 block->contract->weight);
}

TEST(GptBlock, EqualsTheLoop) {
  at::NoGradGuard no_grad;
  for (const Positions positions : kAll) {
    const GptConfig config = small_gpt(positions);
    GptBlock block = test::drawn_block<GptBlock>(config);
    const at::Tensor x = at::randn({2, 6, 12}, at::kDouble);
    EXPECT_LT(test::relative_error(block->forward(x, {}), loop(block, config, x)), 1e-12)
        << config::enum_name(positions);
  }
}

TEST(GptBlock, GradientsAgreeWithCentralDifferences) {
  for (const Positions positions : kAll) {
    GptBlock block = test::drawn_block<GptBlock>(small_gpt(positions));
    const auto outputs = [&](const std::vector<at::Tensor>& in) {
      return block->forward(in[0], {});
    };
    EXPECT_TRUE(test::gradients_agree(outputs, {at::randn({1, 4, 12}, at::kDouble).requires_grad_(),
                                                block->query_key_value->weight}))
        << config::enum_name(positions);
  }
}

TEST(GptBlock, FloatAgreesWithDouble) {
  at::NoGradGuard no_grad;
  for (const Positions positions : kAll) {
    GptBlock block = test::drawn_block<GptBlock>(small_gpt(positions));
    const at::Tensor x = at::randn({2, 70, 12}, at::kDouble);
    const at::Tensor expected = block->forward(x, {});
    block->to(at::kFloat);
    EXPECT_LT(test::relative_error(block->forward(x.to(at::kFloat), {}).to(at::kDouble), expected),
              1e-5)
        << config::enum_name(positions);
  }
}

// Of the baseline of Memory Mosaics.
TEST(Gpt, HasThePublishedNumberOfParameters) {
  for (const auto& [layers, expected] : {std::pair<int64_t, int64_t>{1, 46106880},
                                         {4, 67345152},
                                         {8, 95662848},
                                         {12, 123980544},
                                         {18, 166457088}}) {
    GptConfig config;
    config.layers = layers;
    EXPECT_EQ(Gpt(config, std::nullopt, at::kMeta).parameter_count(), expected);
  }
}

TEST(Gpt, OnlyLearnedPositionsAreParameters) {
  // A block: 12 C^2 and two gains; beside the blocks V C and the last gain.
  const int64_t without = 2 * (12 * 12 * 12 + 2 * 12) + 11 * 12 + 12;
  EXPECT_EQ(Gpt(small_gpt(Positions::kLearned)).parameter_count(), without + 8 * 12);
  EXPECT_EQ(Gpt(small_gpt(Positions::kRotary)).parameter_count(), without);
  EXPECT_EQ(Gpt(small_gpt(Positions::kAlibi)).parameter_count(), without);
}

TEST(Gpt, AConfigurationThatDoesNotNamePositionsHasLearnedOnes) {
  const auto model = gpt_kind().make({{"vocabulary", 11}, {"channels", 12}}, {}, at::kMeta);
  EXPECT_EQ(model->hyper_parameters().at("positions"), "learned");
}

TEST(Gpt, AStateThatItRefusesStaysAsItWas) {
  Gpt four(small_gpt(Positions::kRotary, 2, 12)), two(small_gpt(Positions::kRotary, 1, 12));
  const at::Tensor tokens = at::ones({1, 3}, at::kLong);
  SequenceState state = four.read(tokens, four.empty_state()).state;
  EXPECT_THROW(two.read(tokens, std::move(state)), UsageError);
  EXPECT_NO_THROW(four.read(tokens, std::move(state)));
}

TEST(Gpt, RefusesRotaryPositionsOfHeadsWithAnOddWidth) {
  EXPECT_THROW(Gpt(small_gpt(Positions::kRotary, 4, 12)), UsageError);
  EXPECT_NO_THROW(Gpt(small_gpt(Positions::kAlibi, 4, 12)));
  EXPECT_THROW(gpt_kind().make({{"positions", "rotray"}}, {}, at::kMeta), UsageError);
}

}  // namespace
}  // namespace tessera
