#include "tessera/train/optimizer.h"

#include <torch/types.h>  // before rmsprop.h, which relies on it

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim/rmsprop.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tests/support/numerical_gradient.h"

namespace tessera {
namespace {

// g = 2 twice, smoothing 3/4, momentum 1/2, rate 0.1:
//     v = 1, b = 2, p = 1 - 0.2;   v = 1.75, b = 1 + 2 / sqrt(1.75), p = 0.8 - 0.1 b.
TEST(Rmsprop, TwoStepsByHand) {
  const at::Tensor p = at::ones({1}, at::kDouble).requires_grad_(true);
  const at::Tensor untouched = at::ones({1}, at::kDouble).requires_grad_(true);
  Rmsprop optimizer({{"p", p}, {"untouched", untouched}}, {0.75, 0.5, 1e-300});
  p.mutable_grad() = at::full({1}, 4.0, at::kDouble);
  optimizer.step(0.1, /*gradient_scale=*/0.5);
  EXPECT_NEAR(p.item<double>(), 0.8, 1e-15);
  optimizer.step(0.1, /*gradient_scale=*/0.5);
  const double b = 1 + 2 / std::sqrt(1.75);
  EXPECT_NEAR(p.item<double>(), 0.8 - 0.1 * b, 1e-15);
  EXPECT_EQ(untouched.item<double>(), 1.0);  // it has no gradient
  EXPECT_EQ(optimizer.steps(), 2);
  const auto state = optimizer.state();
  EXPECT_EQ(state[0].first, "rmsprop.v.p");
  EXPECT_NEAR(state[0].second.item<double>(), 1.75, 1e-15);
  EXPECT_EQ(state[1].first, "rmsprop.b.p");
  EXPECT_NEAR(state[1].second.item<double>(), b, 1e-15);
  EXPECT_TRUE(is_optimizer_state(state[0].first));
}

TEST(Rmsprop, EqualsTorchOverSeveralSteps) {
  const at::Tensor values = at::sin(at::arange(60, at::kDouble) * 0.37).view({12, 5});
  const at::Tensor ours = values.clone().requires_grad_(true);
  const at::Tensor theirs = values.clone().requires_grad_(true);
  Rmsprop optimizer({{"p", ours}}, {0.95, 0.9, 1e-8});
  torch::optim::RMSprop reference(
      {theirs}, torch::optim::RMSpropOptions(0.01).alpha(0.95).momentum(0.9).eps(1e-8));
  for (int step = 0; step < 8; ++step) {
    ours.mutable_grad() = at::cos(ours.detach() * (1.0 + step));
    theirs.mutable_grad() = at::cos(theirs.detach() * (1.0 + step));
    optimizer.step(0.01);
    reference.step();
  }
  EXPECT_LT(test::relative_error(ours.detach(), theirs.detach()), 1e-12);
}

TEST(Rmsprop, ClipsTheNumbersOfAGradient) {
  const at::Tensor p = at::zeros({3}).requires_grad_(true);
  const at::Tensor untouched = at::zeros({3}).requires_grad_(true);
  Rmsprop optimizer({{"p", p}, {"untouched", untouched}}, {});
  p.mutable_grad() = at::tensor({-30.0F, 4.0F, NAN});
  optimizer.clip_gradient_values(10);
  EXPECT_EQ(p.grad()[0].item<double>(), -10);
  EXPECT_EQ(p.grad()[1].item<double>(), 4);
  EXPECT_EQ(optimizer.parameter_with_bad_gradient(), "p");  // NaN stays NaN
  EXPECT_FALSE(untouched.grad().defined());
}

TEST(Rmsprop, RefusesParametersThatAreNoNumbers) {
  EXPECT_THROW(Rmsprop({{"ids", at::zeros({3}, at::kLong)}}, {}), UsageError);
}

}  // namespace
}  // namespace tessera
