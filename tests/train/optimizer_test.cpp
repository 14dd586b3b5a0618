#include "tessera/train/optimizer.h"

#include <torch/types.h>  // before clip_grad.h and rmsprop.h, which rely on it

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tests/support/numerical_gradient.h"

namespace tessera {
namespace {

at::Tensor leaf(const at::Tensor& values) {
  return values.clone().requires_grad_(true);
}

/// Parameters of several shapes, one of them longer than a block of the fused loop.
NamedTensors parameters(at::ScalarType type) {
  const auto values = [&](at::IntArrayRef sizes, double step) {
    return leaf(
        at::sin(at::arange(at::empty(sizes).numel(), at::kDouble) * step).view(sizes).to(type));
  };
  return {{"matrix", values({150, 301}, 0.37)},
          {"gain", values({7}, 1.1)},
          {"scalar", values({}, 1.0)},
          {"empty", values({0, 3}, 1.0)}};
}

/// Gradients that depend on the weights and the step, one of them tiny, as in a real training.
void set_gradients(const NamedTensors& tensors, int step) {
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor values = tensor.detach();
    tensor.mutable_grad() = at::cos(values * (1.0 + step)) * (name == "gain" ? 1e-6 : 1.0);
  }
}

/// Largest difference from torch::optim::AdamW after some steps with clipping.
double distance_from_torch(at::ScalarType type) {
  const NamedTensors ours = parameters(type), theirs = parameters(type);
  const auto group = [](std::vector<at::Tensor> tensors, double decay) {
    auto options = std::make_unique<torch::optim::AdamWOptions>(0.01);
    options->betas({0.9, 0.95}).eps(1e-8).weight_decay(decay);
    return torch::optim::OptimizerParamGroup(std::move(tensors), std::move(options));
  };
  torch::optim::AdamW reference(std::vector<torch::optim::OptimizerParamGroup>{
      group({theirs[0].second, theirs[3].second}, 0.1),
      group({theirs[1].second, theirs[2].second}, 0.0)});
  AdamW optimizer(ours, {0.1, 0.9, 0.95, 1e-8});
  std::vector<at::Tensor> all;
  for (const auto& [name, tensor] : theirs) all.push_back(tensor);
  for (int step = 0; step < 8; ++step) {
    set_gradients(ours, step);
    set_gradients(theirs, step);
    const double rate = 0.01 * (step + 1);
    for (auto& part : reference.param_groups())
      static_cast<torch::optim::AdamWOptions&>(part.options()).lr(rate);
    const double norm = torch::nn::utils::clip_grad_norm_(all, 1.5);
    reference.step();
    EXPECT_NEAR(optimizer.gradient_norm(), norm, 1e-5 * norm);
    optimizer.step(rate, clip_scale(optimizer.gradient_norm(), 1.5));
  }
  double distance = 0.0;
  for (size_t i = 0; i + 1 < ours.size(); ++i)
    distance = std::max(distance,
                        test::relative_error(ours[i].second.detach(), theirs[i].second.detach()));
  return distance;
}

TEST(AdamW, EqualsTorchOverSeveralSteps) {
  EXPECT_LT(distance_from_torch(at::kFloat), 1e-6);
  EXPECT_LT(distance_from_torch(at::kDouble), 1e-12);
}

// p = 1, g = 2 at step 1: m = 0.2, v = 0.2, corrected 2 and 4, so the step is the rate; the decay
// takes 0.1 * 0.5 of p.
TEST(AdamW, OneStepByHand) {
  const at::Tensor decaying = leaf(at::ones({1, 1}, at::kDouble));
  const at::Tensor steady = leaf(at::ones({1}, at::kDouble));
  const at::Tensor untouched = leaf(at::ones({1, 1}, at::kDouble));
  AdamW optimizer({{"a", decaying}, {"b", steady}, {"c", untouched}}, {0.5, 0.9, 0.95, 1e-300});
  decaying.mutable_grad() = at::full({1, 1}, 2.0, at::kDouble);
  steady.mutable_grad() = at::full({1}, 2.0, at::kDouble);
  optimizer.step(0.1);
  EXPECT_NEAR(decaying.item<double>(), 1 - 0.05 - 0.1, 1e-12);
  EXPECT_NEAR(steady.item<double>(), 1 - 0.1, 1e-12);
  EXPECT_EQ(untouched.item<double>(), 1.0);  // it has no gradient
  EXPECT_EQ(optimizer.steps(), 1);
  const auto state = optimizer.state();
  EXPECT_EQ(state[0].first, "adamw.m.a");
  EXPECT_NEAR(state[0].second.item<double>(), 0.2, 1e-15);
  EXPECT_EQ(state[1].first, "adamw.v.a");
  EXPECT_NEAR(state[1].second.item<double>(), 0.2, 1e-15);
}

// Without bias correction the first step is rate * 0.1 / sqrt(0.05): for any gradient.
TEST(AdamW, OneStepWithoutBiasCorrectionByHand) {
  const at::Tensor value = leaf(at::ones({1}, at::kDouble));
  AdamW optimizer({{"p", value}}, {.epsilon = 1e-300, .bias_correction = false});
  value.mutable_grad() = at::full({1}, 2.0, at::kDouble);
  optimizer.step(0.1);
  EXPECT_NEAR(value.item<double>(), 1 - 0.1 * 0.2 / std::sqrt(0.2), 1e-12);
  optimizer.step(0.1);  // m = 0.2 + 0.18, v = 0.2 + 0.19
  EXPECT_NEAR(value.item<double>(), 1 - 0.1 * 0.2 / std::sqrt(0.2) - 0.1 * 0.38 / std::sqrt(0.39),
              1e-12);
}

TEST(AdamW, ThreadsMakeNoDifference) {
  const int threads = at::get_num_threads();
  const auto trained = [](int count) {
    at::set_num_threads(count);
    const NamedTensors tensors = parameters(at::kFloat);
    AdamW optimizer(tensors, {});
    double norms = 0.0;
    for (int step = 0; step < 3; ++step) {
      set_gradients(tensors, step);
      norms += optimizer.gradient_norm();
      optimizer.step(0.01, 0.5);
    }
    return std::pair(norms, tensors[0].second.detach());
  };
  const auto [one_norm, one] = trained(1);
  const auto [three_norm, three] = trained(3);
  at::set_num_threads(threads);
  EXPECT_EQ(one_norm, three_norm);
  EXPECT_TRUE(one.equal(three));
}

// A transposed parameter takes the composed functions, a plain one the loops.
TEST(AdamW, LoopsAgreeWithComposedFunctions) {
  const at::Tensor values = at::sin(at::arange(12, at::kFloat)).view({3, 4});
  const at::Tensor plain = leaf(values), turned = values.t().contiguous().t().requires_grad_(true);
  ASSERT_FALSE(turned.is_contiguous());
  AdamW a({{"p", plain}}, {}), b({{"p", turned}}, {});
  for (int step = 0; step < 4; ++step) {
    plain.mutable_grad() = at::cos(plain.detach());
    turned.mutable_grad() = at::cos(turned.detach());
    EXPECT_NEAR(a.gradient_norm(), b.gradient_norm(), 1e-6);
    a.step(0.1, 0.7);
    b.step(0.1, 0.7);
  }
  EXPECT_LT(test::relative_error(turned.detach(), plain.detach()), 1e-6);
}

TEST(AdamW, HalfPrecisionKeepsItsMomentsInFloat) {
  const at::Tensor half = leaf(at::ones({2, 2}).to(at::kBFloat16));
  AdamW optimizer({{"p", half}}, {});
  half.mutable_grad() = at::ones({2, 2}).to(at::kBFloat16);
  optimizer.step(0.25);
  EXPECT_EQ(optimizer.state()[0].second.scalar_type(), at::kFloat);
  EXPECT_NEAR(half.detach().to(at::kFloat).mean().item<double>(), 1 - 0.025 - 0.25, 0.01);
}

TEST(AdamW, TiedWeightsAreOneParameter) {
  const at::Tensor shared = leaf(at::ones({2}, at::kDouble));
  AdamW optimizer({{"embedding", shared}, {"head", shared}}, {});
  EXPECT_EQ(optimizer.state().size(), 2u);
  shared.mutable_grad() = at::full({2}, 3.0, at::kDouble);
  EXPECT_DOUBLE_EQ(optimizer.gradient_norm(), std::sqrt(18.0));
}

TEST(AdamW, NamesTheParameterWhoseGradientIsNotFinite) {
  const NamedTensors tensors = parameters(at::kFloat);
  AdamW optimizer(tensors, {});
  EXPECT_EQ(optimizer.gradient_norm(), 0.0);
  set_gradients(tensors, 0);
  EXPECT_EQ(optimizer.parameter_with_bad_gradient(), "");
  tensors[1].second.mutable_grad()[3] = INFINITY;
  EXPECT_EQ(optimizer.parameter_with_bad_gradient(), "gain");
  EXPECT_FALSE(std::isfinite(optimizer.gradient_norm()));
  optimizer.clear_gradients();
  EXPECT_FALSE(tensors[1].second.grad().defined());
}

TEST(AdamW, RefusesWhatIsNoFloatingTensor) {
  EXPECT_THROW(AdamW({{"ids", at::zeros({2}, at::kLong)}}, {}), UsageError);
  EXPECT_THROW(AdamW({{"none", at::Tensor()}}, {}), UsageError);
}

TEST(ClipScale, OnlyMakesSmaller) {
  EXPECT_EQ(clip_scale(0.5, 1.0), 1.0);
  EXPECT_NEAR(clip_scale(4.0, 1.0), 0.25, 1e-6);
  EXPECT_EQ(clip_scale(1e9, 0.0), 1.0);
}

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
