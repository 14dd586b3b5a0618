#include "lab/baseline/attentional_lstm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lab/baseline/tensor_state.h"
#include "tests/model/by_hand.h"

namespace tessera {
namespace {

using test::fill;

AttentionalLstmConfig one_unit() {
  return {.inputs = 1, .outputs = 1, .hidden = 1};
}

// Steps 1 and 2 attend over h_0, and over h_0 and h_1.
TEST(AttentionalLstm, AttentionWorkedByHand) {
  AttentionalLstm model(one_unit());
  fill(model, "first_history", {0.5});
  fill(model, "score.weight", {4});
  fill(model, "combination.weight", {2, -1});  // of the context, of the present
  fill(model, "head.weight", {1});
  fill(model, "head.bias", {0});
  const at::Tensor x = at::tensor({2.0F, -1.0F}).view({1, 2, 1});
  const SequenceOutput read = model.read(x, model.empty_state());
  const at::Tensor history = read.state.as<TensorState>().part(0);
  ASSERT_EQ(history.sizes(), at::IntArrayRef({1, 3, 1}));
  const double h0 = 0.5, h1 = history[0][1][0].item<double>(), h2 = history[0][2][0].item<double>();
  EXPECT_FLOAT_EQ(history[0][0][0].item<float>(), 0.5);
  EXPECT_NEAR(read.outputs[0][0][0].item<double>(), std::tanh(2 * h0 - h1), 1e-6);
  const double a0 = std::exp(4 * h2 * h0), a1 = std::exp(4 * h2 * h1);
  const double context = (a0 * h0 + a1 * h1) / (a0 + a1);
  EXPECT_NEAR(read.outputs[0][1][0].item<double>(), std::tanh(2 * context - h2), 1e-6);
}

TEST(AttentionalLstm, ItsStateGrowsByOneHiddenStateAStep) {
  AttentionalLstm model(one_unit());
  SequenceState state = model.empty_state();
  int64_t steps = 0;
  for (int64_t length : {1, 4, 2}) {
    state = std::move(model.read(at::ones({3, length, 1}), std::move(state)).state);
    steps += length;
    EXPECT_EQ(state.as<TensorState>().part(0).sizes(), at::IntArrayRef({3, 1 + steps, 1}));
  }
}

TEST(AttentionalLstm, HasTheParametersOfItsEquations) {
  // LSTM, its first state, W_a, W_c, head
  EXPECT_EQ(AttentionalLstm(AttentionalLstmConfig(), std::nullopt, at::kMeta).parameter_count(),
            4 * 512 * (34 + 512 + 1) + 2 * 512 + 512 * 512 + 512 * 2 * 512 + 32 * (512 + 1));
}

}  // namespace
}  // namespace tessera
