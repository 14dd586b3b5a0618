#include "lab/baseline/vector_lstm.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/by_hand.h"
#include "tests/support/numerical_gradient.h"

namespace tessera {
namespace {

using test::fill;
using test::sigmoid;

// One unit that has read nothing: h = 0.5, c = -1.
TEST(VectorLstm, TwoStepsWorkedByHand) {
  at::NoGradGuard no_grad;
  VectorLstm model({.inputs = 1, .outputs = 1, .hidden = 1});
  fill(model, "first_hidden", {0.5});
  fill(model, "first_cell", {-1});
  fill(model, "layers.0.input_weight", {0.5, -1, 2, 1});  // i, f, g, o
  fill(model, "layers.0.recurrent_weight", {1, 0.25, -0.5, 0});
  fill(model, "layers.0.bias", {0, 1, 0, -1});
  fill(model, "head.weight", {3});
  fill(model, "head.bias", {0.25});
  double h = 0.5, c = -1;
  const at::Tensor y = model.forward(at::tensor({2.0F, -1.0F}).view({1, 2, 1}));
  for (int t = 0; t < 2; ++t) {
    const double x = t == 0 ? 2 : -1;
    c = sigmoid(-x + 0.25 * h + 1) * c + sigmoid(0.5 * x + h) * std::tanh(2 * x - 0.5 * h);
    h = sigmoid(x - 1) * std::tanh(c);
    EXPECT_NEAR(y[0][t][0].item<double>(), 3 * h + 0.25, 1e-6) << t;
  }
}

TEST(VectorLstm, ALayerReadsTheOutputsOfTheOneBelow) {
  at::NoGradGuard no_grad;
  VectorLstm model({.inputs = 3, .outputs = 2, .layers = 2, .hidden = 4});
  const at::Tensor x = at::randn({2, 5, 3}), zeros = at::zeros({2, 4});
  LstmLayer lower(3, 4, at::kCPU), upper(4, 4, at::kCPU);
  const auto parameters = model.named_parameters();
  for (const auto& item : lower->named_parameters())
    item.value().copy_(parameters["layers.0." + item.key()]);
  for (const auto& item : upper->named_parameters())
    item.value().copy_(parameters["layers.1." + item.key()]);
  const at::Tensor hidden =
      upper->forward(lower->forward(x, zeros, zeros).outputs, zeros, zeros).outputs;
  EXPECT_LT(test::relative_error(model.forward(x), at::linear(hidden, parameters["head.weight"],
                                                              parameters["head.bias"])),
            1e-6);
}

// The authors' LSTM baseline of copy and priority sort has 1,139,744 parameters: PyTorch's layer
// with a second bias of 4 H, a learned first state of 2 H, and a linear head.
TEST(VectorLstm, HasTheParametersOfItsEquations) {
  EXPECT_EQ(VectorLstm(VectorLstmConfig(), std::nullopt, at::kMeta).parameter_count(),
            4 * 512 * (34 + 512 + 1) + 2 * 512 + 32 * (512 + 1));
  EXPECT_EQ(VectorLstm(VectorLstmConfig(), std::nullopt, at::kMeta).parameter_count() + 4 * 512,
            1'139'744);
}

TEST(VectorLstm, ForgetGatesBeginOpen) {
  const auto parameters = VectorLstm({.hidden = 2}).named_parameters();
  EXPECT_TRUE(parameters["layers.0.bias"].equal(at::tensor({0, 0, 1, 1, 0, 0, 0, 0}, at::kFloat)));
}

}  // namespace
}  // namespace tessera
