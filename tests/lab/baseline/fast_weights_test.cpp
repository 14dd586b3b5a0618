#include "lab/baseline/fast_weights.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "lab/baseline/tensor_state.h"
#include "tessera/base/error.h"
#include "tests/model/by_hand.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::fill;
using testing::HasSubstr;

FastWeightsConfig two_units() {
  return {.inputs = 2, .outputs = 2, .hidden = 2};
}

// h = (1, 2): A = 0.5 h h^T = [[0.5, 1], [1, 2]]. Without W and C only A acts on h_0 = b = (2, 1):
// b + A b = (2 + 2, 1 + 4) = (4, 5), of which the norm makes (-1, 1) and relu (0, 1). Then
// A = 0.8 A + 0.5 h h^T = [[0.4, 0.8], [0.8, 1.6 + 0.5]].
TEST(FastWeights, AStepWorkedByHand) {
  FastWeightsConfig config = two_units();
  config.decay = 0.8;
  FastWeights model(config);
  fill(model, "first_hidden", {1, 2});
  fill(model, "input.weight", {0});
  fill(model, "input.bias", {2, 1});
  fill(model, "recurrent.weight", {0});
  const at::Tensor x = at::zeros({1, 1, 2});
  SequenceOutput read = model.read(x, model.empty_state());
  const auto expect_state = [&](std::vector<double> hidden, std::vector<double> fast_weights) {
    const auto& state = read.state.as<TensorState>();
    EXPECT_TRUE(at::allclose(state.part(0).flatten(), at::tensor(hidden, at::kFloat), 0, 1e-4));
    EXPECT_TRUE(
        at::allclose(state.part(1).flatten(), at::tensor(fast_weights, at::kFloat), 0, 1e-4));
  };
  expect_state({0, 1}, {0.5, 1, 1, 2});
  read = model.read(x, std::move(read.state));
  // b + A b = (2 + 1.6, 1 + 3.7)
  expect_state({0, 1}, {0.4, 0.8, 0.8, 2.1});
}

TEST(FastWeights, BeginsWithASmallIdentity) {
  const FastWeights model(two_units());
  EXPECT_TRUE(model.named_parameters()["recurrent.weight"].equal(0.05 * at::eye(2)));
}

TEST(FastWeights, HasTheParametersOfItsEquations) {
  // C with bias, W, norm, first hidden state, head
  EXPECT_EQ(FastWeights(FastWeightsConfig(), std::nullopt, at::kMeta).parameter_count(),
            100 * (34 + 1) + 100 * 100 + 2 * 100 + 100 + 32 * (100 + 1));
}

TEST(FastWeights, RefusesImpossibleDecaysAndRates) {
  const auto message = [](auto change) {
    FastWeightsConfig config = two_units();
    change(config);
    return test::message_of<UsageError>([&] { FastWeights model(config); });
  };
  EXPECT_THAT(message([](auto& c) { c.decay = NAN; }), HasSubstr("model.decay is nan"));
  EXPECT_THAT(message([](auto& c) { c.decay = 1.5; }), HasSubstr("model.decay is 1.5"));
  EXPECT_THAT(message([](auto& c) { c.decay = -0.1; }), HasSubstr("model.decay is -0.1"));
  EXPECT_THAT(message([](auto& c) { c.rate = NAN; }), HasSubstr("model.rate is nan"));
  EXPECT_THAT(message([](auto& c) { c.rate = INFINITY; }), HasSubstr("model.rate is inf"));
  EXPECT_THAT(message([](auto& c) { c.rate = -1; }), HasSubstr("model.rate is -1"));
  EXPECT_EQ(message([](auto&) {}), "");
}

}  // namespace
}  // namespace tessera
