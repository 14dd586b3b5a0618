#include "lab/baseline/addressed_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tests/support/drawn.h"
#include "tests/support/numerical_gradient.h"

namespace tessera {
namespace {

using test::drawn;

at::Tensor small_integers(at::IntArrayRef sizes, int64_t seed) {
  return drawn(sizes, seed).mul_(2).round_();
}

// cos = (1, 0, -1) within 1e-6; strength ln 2 makes the weights 2 : 1 : 1/2.
TEST(ContentWeights, WorkedByHand) {
  const at::Tensor keys = at::tensor({3.0, 0.0}, at::kDouble).view({1, 1, 2});
  const at::Tensor memory =
      at::tensor({2.0, 0.0, 0.0, 5.0, -1.0, 0.0}, at::kDouble).view({1, 3, 2});
  const at::Tensor weights =
      ops::content_weights(keys, at::full({1, 1}, std::log(2.0), at::kDouble), memory);
  const at::Tensor expected = at::tensor({4.0 / 7, 2.0 / 7, 1.0 / 7}, at::kDouble).view({1, 1, 3});
  EXPECT_TRUE(at::allclose(weights, expected, 0, 1e-6));
}

TEST(ContentWeights, IsTheSlowLoop) {
  const int64_t B = 2, H = 3, N = 4, W = 5;
  const at::Tensor keys = drawn({B, H, W}, 1), strengths = drawn({B, H}, 2).abs();
  const at::Tensor memory = drawn({B, N, W}, 3);
  const at::Tensor weights = ops::content_weights(keys, strengths, memory);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h) {
      std::vector<double> powers;
      double sum = 0;
      for (int64_t n = 0; n < N; ++n) {
        double product = 0, key = 0, row = 0;
        for (int64_t k = 0; k < W; ++k) {
          const double u = keys[b][h][k].item<double>(), v = memory[b][n][k].item<double>();
          product += u * v;
          key += u * u;
          row += v * v;
        }
        powers.push_back(std::exp(strengths[b][h].item<double>() * product /
                                  (std::sqrt(key) * std::sqrt(row) + 1e-6)));
        sum += powers.back();
      }
      for (int64_t n = 0; n < N; ++n)
        EXPECT_NEAR(weights[b][h][n].item<double>(), powers[n] / sum, 1e-12);
    }
}

TEST(ContentWeights, GradientsAreTheNumericalOnes) {
  EXPECT_TRUE(test::gradients_agree(
      [](const auto& x) { return ops::content_weights(x[0], x[1], x[2]); },
      {drawn({2, 2, 3}, 1).requires_grad_(), drawn({2, 2}, 2).requires_grad_(),
       drawn({2, 4, 3}, 3).requires_grad_()}));
}

TEST(ContentWeights, ZeroVectorsAreLikeNothingAndHaveAGradient) {
  at::Tensor keys = at::zeros({1, 1, 2}).requires_grad_();
  at::Tensor memory = at::zeros({1, 4, 2}).requires_grad_();
  const at::Tensor weights = ops::content_weights(keys, at::ones({1, 1}), memory);
  EXPECT_TRUE(weights.equal(at::full({1, 1, 4}, 0.25)));
  weights.square().sum().backward();
  EXPECT_TRUE(keys.grad().isfinite().all().item<bool>());
  EXPECT_TRUE(memory.grad().isfinite().all().item<bool>());
}

TEST(ContentWeights, NoHeadsAndOneSlot) {
  EXPECT_EQ(
      ops::content_weights(at::zeros({2, 0, 3}), at::zeros({2, 0}), at::zeros({2, 4, 3})).sizes(),
      at::IntArrayRef({2, 0, 4}));
  EXPECT_TRUE(ops::content_weights(at::ones({1, 1, 1}), at::ones({1, 1}), at::ones({1, 1, 1}))
                  .equal(at::ones({1, 1, 1})));
}

TEST(ContentWeights, RefusesShapesThatDoNotFit) {
  const at::Tensor keys = at::zeros({2, 3, 4}), strengths = at::zeros({2, 3}),
                   memory = at::zeros({2, 5, 4});
  EXPECT_THROW(ops::content_weights(keys[0], strengths, memory), UsageError);
  EXPECT_THROW(ops::content_weights(keys, at::zeros({2, 2}), memory), UsageError);
  EXPECT_THROW(ops::content_weights(keys, strengths, at::zeros({2, 5, 3})), UsageError);
  EXPECT_THROW(ops::content_weights(keys, strengths, at::zeros({1, 5, 4})), UsageError);
}

// The first row is written by half: 4 (1 - 1/2 · 1) + 1/2 · 10 and 6 (1 - 1/2 · 1/2) + 1/2 · 0.
TEST(EraseAndAdd, WorkedByHand) {
  const at::Tensor memory = at::tensor({4.0, 6.0, 1.0, 2.0}, at::kDouble).view({1, 2, 2});
  const at::Tensor result =
      ops::erase_and_add(memory, at::tensor({0.5, 0.0}, at::kDouble).view({1, 1, 2}),
                         at::tensor({1.0, 0.5}, at::kDouble).view({1, 1, 2}),
                         at::tensor({10.0, 0.0}, at::kDouble).view({1, 1, 2}));
  EXPECT_TRUE(result.equal(at::tensor({7.0, 4.5, 1.0, 2.0}, at::kDouble).view({1, 2, 2})));
}

TEST(EraseAndAdd, IsTheSlowLoop) {
  const int64_t B = 2, H = 3, N = 4, W = 5;
  const at::Tensor memory = small_integers({B, N, W}, 1), weights = small_integers({B, H, N}, 2);
  const at::Tensor erase = small_integers({B, H, W}, 3), add = small_integers({B, H, W}, 4);
  const at::Tensor result = ops::erase_and_add(memory, weights, erase, add);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t n = 0; n < N; ++n)
      for (int64_t k = 0; k < W; ++k) {
        double expected = memory[b][n][k].item<double>();
        for (int64_t h = 0; h < H; ++h)
          expected *= 1 - weights[b][h][n].item<double>() * erase[b][h][k].item<double>();
        for (int64_t h = 0; h < H; ++h)
          expected += weights[b][h][n].item<double>() * add[b][h][k].item<double>();
        EXPECT_EQ(result[b][n][k].item<double>(), expected);
      }
}

TEST(EraseAndAdd, GradientsAreTheNumericalOnes) {
  EXPECT_TRUE(test::gradients_agree(
      [](const auto& x) { return ops::erase_and_add(x[0], x[1], x[2], x[3]); },
      {drawn({2, 4, 3}, 1).requires_grad_(), drawn({2, 2, 4}, 2).requires_grad_(),
       drawn({2, 2, 3}, 3).requires_grad_(), drawn({2, 2, 3}, 4).requires_grad_()}));
}

TEST(EraseAndAdd, NoHeadsLeaveTheMemoryAsItIs) {
  const at::Tensor memory = drawn({2, 4, 3}, 1), none = at::zeros({2, 0, 3}, at::kDouble);
  EXPECT_TRUE(
      ops::erase_and_add(memory, at::zeros({2, 0, 4}, at::kDouble), none, none).equal(memory));
}

TEST(EraseAndAdd, RefusesShapesThatDoNotFit) {
  const at::Tensor memory = at::zeros({2, 4, 3}), weights = at::zeros({2, 1, 4}),
                   vectors = at::zeros({2, 1, 3});
  EXPECT_THROW(ops::erase_and_add(memory[0], weights, vectors, vectors), UsageError);
  EXPECT_THROW(ops::erase_and_add(memory, at::zeros({2, 1, 3}), vectors, vectors), UsageError);
  EXPECT_THROW(ops::erase_and_add(memory, weights, at::zeros({2, 2, 3}), vectors), UsageError);
  EXPECT_THROW(ops::erase_and_add(memory, weights, vectors, at::zeros({2, 1, 4})), UsageError);
}

}  // namespace
}  // namespace tessera
