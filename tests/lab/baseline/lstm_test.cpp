#include "lab/baseline/lstm.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/modules/rnn.h>

#include <tuple>

#include "lab/baseline/tensor_state.h"
#include "tessera/base/error.h"
#include "tests/model/by_hand.h"
#include "tests/support/drawn.h"
#include "tests/support/numerical_gradient.h"

namespace tessera {
namespace {

using test::sigmoid;

constexpr double kLstmTolerance = 1e-6;  // other order of the same float sums

at::Tensor drawn_floats(at::IntArrayRef sizes, int64_t seed) {
  return test::drawn(sizes, seed, 0.5).to(at::kFloat);
}

LstmLayer layer_of(int64_t inputs, int64_t channels) {
  at::NoGradGuard no_grad;
  LstmLayer layer(inputs, channels, at::kCPU);
  int64_t seed = 1;
  for (auto& parameter : layer->parameters())
    parameter.copy_(drawn_floats(parameter.sizes(), ++seed));
  return layer;
}

LstmConfig small_lstm() {
  return {.vocabulary = 11, .window = 8, .layers = 2, .channels = 4, .dropout = 0.25};
}

TEST(LstmLayer, AStepWorkedByHand) {
  at::NoGradGuard no_grad;
  LstmLayer layer(1, 1, at::kCPU);
  layer->input_weight.copy_(at::tensor({0.5F, -1.0F, 2.0F, 1.0F}).view({4, 1}));
  layer->recurrent_weight.copy_(at::tensor({1.0F, 0.25F, -0.5F, 0.0F}).view({4, 1}));
  layer->bias.copy_(at::tensor({0.0F, 1.0F, 0.0F, -1.0F}));
  // x = 2, h = 0.5, c = -1
  const double input = sigmoid(0.5 * 2 + 1.0 * 0.5), forget = sigmoid(-1.0 * 2 + 0.25 * 0.5 + 1);
  const double candidate = std::tanh(2.0 * 2 - 0.5 * 0.5), output = sigmoid(1.0 * 2 - 1);
  const double cell = forget * -1 + input * candidate;
  const auto step =
      layer->forward(at::full({1, 1, 1}, 2.0), at::full({1, 1}, 0.5), at::full({1, 1}, -1.0));
  EXPECT_NEAR(step.cell.item<double>(), cell, kLstmTolerance);
  EXPECT_NEAR(step.hidden.item<double>(), output * std::tanh(cell), kLstmTolerance);
  EXPECT_EQ(step.outputs.item<float>(), step.hidden.item<float>());
}

TEST(LstmLayer, AgreesWithTorchInValuesAndGradients) {
  const int64_t B = 2, T = 6, in = 3, C = 5;
  LstmLayer layer = layer_of(in, C);
  torch::nn::LSTM other(torch::nn::LSTMOptions(in, C).batch_first(true));
  auto theirs = other->named_parameters();
  {
    at::NoGradGuard no_grad;
    theirs["weight_ih_l0"].copy_(layer->input_weight);
    theirs["weight_hh_l0"].copy_(layer->recurrent_weight);
    theirs["bias_ih_l0"].copy_(0.25 * layer->bias);  // their two biases are summed
    theirs["bias_hh_l0"].copy_(0.75 * layer->bias);
  }
  const at::Tensor x = drawn_floats({B, T, in}, 20), hidden = drawn_floats({B, C}, 21),
                   cell = drawn_floats({B, C}, 22);
  const auto ours = layer->forward(x, hidden, cell);
  const auto [expected, last] =
      other->forward(x, std::make_tuple(hidden.unsqueeze(0), cell.unsqueeze(0)));
  EXPECT_LT(test::relative_error(ours.outputs.detach(), expected.detach()), kLstmTolerance);
  EXPECT_LT(test::relative_error(ours.cell.detach(), std::get<1>(last)[0].detach()),
            kLstmTolerance);
  const at::Tensor weights = drawn_floats(expected.sizes(), 23);
  const auto gradients =
      torch::autograd::grad({(weights * ours.outputs).sum()},
                            {layer->input_weight, layer->recurrent_weight, layer->bias});
  const auto wanted =
      torch::autograd::grad({(weights * expected).sum()},
                            {theirs["weight_ih_l0"], theirs["weight_hh_l0"], theirs["bias_ih_l0"]});
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_LT(test::relative_error(gradients[i], wanted[i]), 1e-5) << i;
}

TEST(LstmLayer, GradientsAreTheNumericalOnes) {
  LstmLayer layer = layer_of(2, 3);
  layer->to(at::kDouble);
  const auto outputs = [&](const std::vector<at::Tensor>& in) {
    const auto sequence = layer->forward(in[0], in[1], in[2]);
    return at::cat({sequence.outputs.flatten(), sequence.cell.flatten()});
  };
  EXPECT_TRUE(test::gradients_agree(
      outputs,
      {test::drawn({2, 4, 2}, 20, 0.5).requires_grad_(),
       test::drawn({2, 3}, 21, 0.5).requires_grad_(), test::drawn({2, 3}, 22, 0.5).requires_grad_(),
       layer->input_weight, layer->recurrent_weight, layer->bias}));
}

TEST(Lstm, HasTheParametersOfItsEquations) {
  // E, and in each layer W, U and b: V C + L (2 (4 C^2) + 4 C)
  EXPECT_EQ(Lstm(small_lstm()).parameter_count(), 11 * 4 + 2 * (2 * 4 * 4 * 4 + 4 * 4));
  LstmConfig config;  // the defaults
  EXPECT_EQ(Lstm(config, std::nullopt, at::kMeta).parameter_count(),
            50304 * 768 + 2 * (8 * 768 * 768 + 4 * 768));
}

TEST(Lstm, ForgetGatesBeginOpen) {
  const Lstm model(small_lstm());
  EXPECT_TRUE(model.layer(1)->bias.equal(
      at::tensor({0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}, at::kFloat)));
}

TEST(Lstm, RefusesAStateOfOnePart) {
  Lstm model(small_lstm());
  const at::Tensor tokens = at::zeros({2, 3}, at::kLong);
  SequenceState one_part(TensorState({{"hidden", at::zeros({2, 2, 4})}}));
  SequenceState own = model.read(tokens, model.empty_state()).state;
  EXPECT_THROW(SequenceState::stack({&own, &one_part}), UsageError);
  EXPECT_THROW(SequenceState::stack({&one_part, &own}), UsageError);
  EXPECT_THROW(model.read(tokens, std::move(one_part)), UsageError);
}

}  // namespace
}  // namespace tessera
