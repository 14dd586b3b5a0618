// What is the retentive network's own. What every language model promises is held by
// model_forms_test.cpp.

#include "lab/baseline/retnet.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tessera/base/error.h"
#include "tests/model/model_checks.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/slow_reads.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

RetNetConfig small_retnet() {
  return {.vocabulary = 11, .window = 8, .layers = 2, .heads = 2, .channels = 8};
}

/// The block from its equations in the recurrent form, one step of one head after the other.
at::Tensor loop(RetNetBlock block, const at::Tensor& x) {
  const int64_t B = x.size(0), T = x.size(1), H = 2, C = 8, D = C / H;
  const at::Tensor all =
      at::linear(block->retention_norm->forward(x), block->query_key_value_gate->weight);
  const auto turned = [&](int64_t begin) {  // [B, T, H, D] of the channels from `begin` on
    const at::Tensor heads = all.narrow(2, begin, C).view({B, T, H, D});
    return test::slow_rotary(heads, std::vector<int64_t>(B, 0));
  };
  const at::Tensor queries = turned(0), keys = turned(C) / std::sqrt(D);
  at::Tensor normed = at::zeros({B, T, 2 * C}, at::kDouble);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h) {
      const double decay = h == 0 ? 31.0 / 32 : 63.0 / 64;
      at::Tensor state = at::zeros({D, 2 * D}, at::kDouble);
      for (int64_t t = 0; t < T; ++t) {
        const at::Tensor value = all[b][t].narrow(0, 2 * C + 2 * h * D, 2 * D);
        state = decay * state + at::outer(keys[b][t][h], value);
        const at::Tensor read = at::mv(state.t(), queries[b][t][h]), centred = read - read.mean();
        normed[b][t]
            .narrow(0, 2 * h * D, 2 * D)
            .copy_(centred / ((centred * centred).mean() + 1e-5).sqrt());
      }
    }
  const at::Tensor gate = all.narrow(2, 4 * C, 2 * C);
  const at::Tensor y =
      x + at::linear(gate * at::sigmoid(gate) * normed, block->retention_output->weight);
  return y + at::linear(
                 at::gelu(at::linear(block->feed_forward_norm->forward(y), block->expand->weight)),
                 block->contract->weight);
}

TEST(RetNetBlock, EqualsTheLoop) {
  at::NoGradGuard no_grad;
  RetNetBlock block = test::drawn_block<RetNetBlock>(small_retnet());
  const at::Tensor x = at::randn({2, 6, 8}, at::kDouble);
  EXPECT_LT(test::relative_error(block->forward(x, {}), loop(block, x)), 1e-12);
}

TEST(RetNetBlock, ATokenReadsItselfFirstByHand) {
  // One head of two channels, so that a head's values are four. Queries and keys are the normalised
  // token (1, -1), values (1, 1, 2, 4) in all; the gate is 1, whose silu is sigmoid(1).
  at::NoGradGuard no_grad;
  RetNetBlock block(RetNetConfig{.heads = 1, .channels = 2}, at::kCPU);
  block->to(at::kDouble);
  block->query_key_value_gate->weight.copy_(
      at::tensor({1., 0., 0., 1., 1., 0., 0., 1., 1., 0., 1., 0., 2., 0., 4., 0.,  //
                  1., 0., 1., 0., 1., 0., 1., 0.},
                 at::kDouble)
          .view({12, 2}));
  block->retention_output->weight.zero_();
  block->retention_output->weight[0][3] = 1;  // the fourth value of the head
  block->contract->weight.zero_();
  const at::Tensor x = at::tensor({1e3, -1e3}, at::kDouble).view({1, 1, 2});
  // q . k = 2, divided by sqrt(2); values times it have mean 2 s and variance 1.5 s^2, s = sqrt(2).
  const double scale = std::sqrt(2.0);
  const double normed = 2 * scale / std::sqrt(1.5 * scale * scale + 1e-5);
  EXPECT_NEAR((block->forward(x, {}) - x)[0][0][0].item<double>(), normed / (1 + std::exp(-1.0)),
              1e-8);
}

TEST(RetNetBlock, GradientsAgreeWithCentralDifferences) {
  RetNetBlock block = test::drawn_block<RetNetBlock>(small_retnet());
  const auto outputs = [&](const std::vector<at::Tensor>& in) { return block->forward(in[0], {}); };
  EXPECT_TRUE(test::gradients_agree(outputs, {at::randn({1, 4, 8}, at::kDouble).requires_grad_(),
                                              block->query_key_value_gate->weight}));
}

TEST(RetNet, HasTheParametersOfItsEquations) {
  // V C, the last gain, and in each block 6 C^2 + 2 C^2 + 2 C^2 + 2 C^2 and two gains.
  EXPECT_EQ(RetNet(small_retnet()).parameter_count(), 11 * 8 + 8 + 2 * (12 * 64 + 2 * 8));
}

TEST(RetNet, RefusesHeadsThatChannelsCannotBeSharedAmong) {
  for (const int64_t heads :
       {0, 3, 8}) {  // of 8 heads each has one channel, which cannot be turned
    RetNetConfig config = small_retnet();
    config.heads = heads;
    EXPECT_THAT(test::message_of<UsageError>([&] { RetNet model(config); }),
                testing::HasSubstr("model.heads"));
  }
}

}  // namespace
}  // namespace tessera
