// What is the gated DeltaNet's own. What every language model promises is held by
// model_forms_test.cpp.

#include "lab/baseline/gated_deltanet.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tests/model/by_hand.h"
#include "tests/model/model_checks.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

GatedDeltaNetConfig small_deltanet() {
  return {.vocabulary = 11, .window = 8, .layers = 2, .heads = 2, .channels = 8};
}

at::Tensor rms_normed(const at::Tensor& x, const at::Tensor& gain) {
  return x / (x.square().mean(-1, true) + 1e-5).sqrt() * gain;
}

/// Channel c of all steps, convolved with the three before and passed through silu.
double convolved(const at::Tensor& channels, const at::Tensor& weight, int64_t t, int64_t c) {
  double sum = 0;
  for (int64_t back = 0; back < 4 && back <= t; ++back)
    sum += weight[3 - back][c].item<double>() * channels[t - back][c].item<double>();
  return sum * test::sigmoid(sum);
}

/// The block from its equations, one step of one head after the other. C = 8, H = 2, D = 3.
at::Tensor block_loop(GatedDeltaNetBlock block, const at::Tensor& x) {
  const int64_t B = x.size(0), T = x.size(1), H = 2, C = 8, D = 3;
  const at::Tensor normed = rms_normed(x, block->delta_norm);
  const at::Tensor all = at::linear(normed, block->query_key_value_gate->weight);
  const at::Tensor scalars = at::linear(normed, block->decay_and_rate->weight);
  at::Tensor gated = at::zeros({B, T, 3 * C / 2}, at::kDouble);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h) {
      at::Tensor state = at::zeros({2 * D, D}, at::kDouble);  // as in the paper: [d_v, d_k]
      for (int64_t t = 0; t < T; ++t) {
        const auto vector = [&](int64_t first, int64_t width) {
          at::Tensor result = at::empty({width}, at::kDouble);
          for (int64_t i = 0; i < width; ++i)
            result[i] = convolved(all[b], block->convolution, t, first + i);
          return result;
        };
        const auto unit = [](const at::Tensor& v) { return v / (v.square().sum() + 1e-6).sqrt(); };
        const at::Tensor q = unit(vector(h * D, D)), k = unit(vector((H + h) * D, D));
        const at::Tensor v = vector(2 * H * D + 2 * h * D, 2 * D);
        const double rate = test::sigmoid(scalars[b][t][H + h].item<double>());
        const double a = scalars[b][t][h].item<double>() + block->decay_bias[h].item<double>();
        const double decay = std::exp(-std::exp(block->log_decay_factor[h].item<double>()) *
                                      std::log1p(std::exp(a)));
        state = decay * at::mm(state, at::eye(D, at::kDouble) - rate * at::outer(k, k)) +
                rate * at::outer(v, k);
        const at::Tensor read = rms_normed(at::mv(state, q) / std::sqrt(D), block->read_norm);
        const at::Tensor gate = all[b][t].narrow(0, 3 * C + 2 * h * D, 2 * D);
        gated[b][t].narrow(0, 2 * h * D, 2 * D).copy_(gate * at::sigmoid(gate) * read);
      }
    }
  const at::Tensor y = x + at::linear(gated, block->delta_output->weight);
  const at::Tensor wide =
      at::linear(rms_normed(y, block->feed_forward_norm), block->expand->weight);
  const at::Tensor gate = wide.narrow(2, 0, 2 * C);
  return y + at::linear(gate * at::sigmoid(gate) * wide.narrow(2, 2 * C, 2 * C),
                        block->contract->weight);
}

TEST(GatedDeltaNetBlock, EqualsTheLoop) {
  at::NoGradGuard no_grad;
  GatedDeltaNetBlock block = test::drawn_block<GatedDeltaNetBlock>(small_deltanet());
  const at::Tensor x = at::randn({2, 6, 8}, at::kDouble);
  EXPECT_LT(test::relative_error(block->forward(x, {}), block_loop(block, x)), 1e-12);
}

TEST(GatedDeltaNetBlock, GradientsAgreeWithCentralDifferences) {
  GatedDeltaNetBlock block = test::drawn_block<GatedDeltaNetBlock>(small_deltanet());
  const auto outputs = [&](const std::vector<at::Tensor>& in) { return block->forward(in[0], {}); };
  EXPECT_TRUE(test::gradients_agree(
      outputs, {at::randn({1, 5, 8}, at::kDouble).requires_grad_(),
                block->query_key_value_gate->weight, block->convolution, block->log_decay_factor,
                block->decay_bias, block->decay_and_rate->weight}));
}

TEST(GatedDeltaNet, HasTheParametersOfItsEquations) {
  // V C, the last gain, and in each block (2 3/4 + 3/2 + 3/2 + 3/2) C^2 for the memories, 6 C^2 for
  // the feed-forward layer, 2 C H, four steps of 3 C convolved channels, 2 H and gains C, 2 D, C.
  EXPECT_EQ(GatedDeltaNet(small_deltanet()).parameter_count(),
            11 * 8 + 8 + 2 * (12 * 64 + 2 * 8 * 2 + 4 * 24 + 2 * 2 + 8 + 6 + 8));
}

TEST(GatedDeltaNet, KeepsTheChannelsOfThreeStepsAlone) {
  GatedDeltaNet model(small_deltanet());
  const at::Tensor tokens = at::arange(3 * 80).remainder(11).view({3, 80});
  const SequenceState state = model.read(tokens, model.empty_state()).state;
  const at::Tensor channels = state.tensors().at(1).second;
  EXPECT_EQ(channels.sizes(), (std::vector<int64_t>{3, 3, 24}));
  EXPECT_EQ(channels.storage().nbytes(), sizeof(float) * 3 * 3 * 24);
}

TEST(GatedDeltaNet, DecaysBeginAsTheAuthors) {
  GatedDeltaNetConfig config = small_deltanet();
  config.channels = 256;
  config.heads = 64;
  GatedDeltaNet model(config);
  const at::Tensor factors = model.block(0)->log_decay_factor.detach().exp();
  EXPECT_NEAR(factors.mean().item<double>(), 8, 3);
  EXPECT_LT(factors.max().item<double>(), 16);
  const at::Tensor steps = at::softplus(model.block(1)->decay_bias.detach());
  EXPECT_GE(steps.min().item<double>(), 0.99e-3);
  EXPECT_LE(steps.max().item<double>(), 0.101);
  EXPECT_NEAR(steps.log().mean().item<double>(), std::log(0.01), 0.7);
}

TEST(GatedDeltaNet, RefusesHeadsThatChannelsCannotBeSharedAmong) {
  GatedDeltaNetConfig config = small_deltanet();
  config.heads = 4;
  EXPECT_EQ(test::message_of<UsageError>([&] { GatedDeltaNet model(config); }),
            "model.heads is 4 of 8 channels: a key has 3/4 * channels / heads of them, expected a "
            "whole number");
}

}  // namespace
}  // namespace tessera
