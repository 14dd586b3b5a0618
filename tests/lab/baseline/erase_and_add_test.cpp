#include "lab/baseline/addressed_memory.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tests/support/drawn.h"
#include "tests/support/numerical_gradient.h"

namespace tessera {
namespace {

using test::drawn;

at::Tensor small_integers(at::IntArrayRef sizes, int64_t seed) {
  return drawn(sizes, seed).mul_(2).round_();
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
