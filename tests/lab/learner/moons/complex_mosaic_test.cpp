#include "lab/learner/moons/complex_mosaic.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "tessera/base/error.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/optimizer.h"
#include "tests/model/recurrent_network_suite.h"
#include "tests/support/drawn.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::drawn;

constexpr AdamWConfig kAdam = {.weight_decay = 0, .beta2 = 0.999, .bias_correction = false};

/// Four complex inputs, two complex outputs, two memories of two complex channels, in double.
ComplexMosaic small_complex_mosaic() {
  ComplexMosaic model({.inputs = 8, .outputs = 4, .heads = 2, .channels = 8, .beta = 5}, 3);
  model.to(at::kDouble);
  return model;
}
at::Tensor inputs(int64_t B, int64_t T) {
  return drawn({B, T, 8}, 1, 0.4);
}

// One complex channel, W_phi = 1, W_psi = i, W_z = 2, beta = 1; x = 1, i, 1. Step 2 reads the pair
// (1, i i); step 3 reads (1, -1) with k . k = 1 and (i, i) with k . k = 0.
TEST(ComplexMosaic, ThreeStepsWorkedByHand) {
  at::NoGradGuard no_grad;
  ComplexMosaic model({.inputs = 2, .outputs = 2, .heads = 1, .channels = 2, .beta = 1});
  auto parameters = model.named_parameters();
  parameters["key"].copy_(at::tensor({1.0F, 0.0F}).view({1, 1, 2}));
  parameters["value"].copy_(at::tensor({0.0F, 1.0F}).view({1, 1, 2}));
  parameters["output"].copy_(at::tensor({2.0F, 0.0F}).view({1, 1, 2}));
  const at::Tensor x = at::tensor({1.0F, 0.0F, 0.0F, 1.0F, 1.0F, 0.0F}).view({1, 3, 2});
  const at::Tensor z = model.forward(x)[0];
  const double first = std::exp(1.0) / (std::exp(1.0) + 1);  // the weight of the first pair
  EXPECT_TRUE(z[0].equal(at::zeros({2})));
  EXPECT_TRUE(at::allclose(z[1], at::tensor({-2.0F, 0.0F})));
  EXPECT_NEAR(z[2][0].item<double>(), -2 * first, 1e-6);
  EXPECT_NEAR(z[2][1].item<double>(), 2 * (1 - first), 1e-6);
}

// The equations with std::complex, one number after the other.
TEST(ComplexMosaic, IsTheSlowLoop) {
  using Complex = std::complex<double>;
  ComplexMosaic model = small_complex_mosaic();
  const at::Tensor x = inputs(1, 9), z = model.forward(x).detach();
  const auto parameters = model.named_parameters();
  const auto number = [](const at::Tensor& pair) {
    return Complex(pair[0].item<double>(), pair[1].item<double>());
  };
  const auto product = [&](const char* name, const std::vector<Complex>& from) {
    const at::Tensor& matrix = parameters[name];
    std::vector<Complex> to(matrix.size(0));
    for (size_t o = 0; o < to.size(); ++o)
      for (size_t i = 0; i < from.size(); ++i)
        to[o] += number(matrix[static_cast<int64_t>(o)][static_cast<int64_t>(i)]) * from[i];
    return to;
  };
  std::vector<std::vector<Complex>> keys, values;
  for (int64_t t = 0; t < 9; ++t) {
    std::vector<Complex> now;
    for (int64_t i = 0; i < 4; ++i) now.push_back(number(x[0][t].narrow(0, 2 * i, 2)));
    if (t > 0) values.push_back(product("value", now));
    keys.push_back(product("key", now));
    std::vector<Complex> y(4);
    for (size_t head = 0; head < 2; ++head) {
      double sum = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        double score = 0;
        for (size_t c = 2 * head; c < 2 * head + 2; ++c)
          score += std::real(std::conj(keys.back()[c]) * keys[i][c]);
        const double weight = std::exp(5 * score);
        sum += weight;
        for (size_t c = 2 * head; c < 2 * head + 2; ++c) y[c] += weight * values[i][c];
      }
      for (size_t c = 2 * head; c < 2 * head + 2; ++c)
        if (t > 0) y[c] /= sum;
    }
    const auto expected = product("output", y);
    for (int64_t o = 0; o < 2; ++o)
      EXPECT_LT(std::abs(number(z[0][t].narrow(0, 2 * o, 2)) - expected[o]), 1e-12) << t;
  }
}

TEST(ComplexMosaic, GradientsAgreeWithCentralDifferences) {
  ComplexMosaic model = small_complex_mosaic();
  std::vector<at::Tensor> leaves = model.parameters();
  leaves.insert(leaves.begin(), inputs(2, 6).requires_grad_());
  const auto outputs = [&](const std::vector<at::Tensor>& in) { return model.forward(in[0]); };
  EXPECT_TRUE(test::gradients_agree(outputs, leaves));
}

// The paper: both nets have 3 x 3 x 2 x 3 = 54 trainable real parameters.
TEST(ComplexMosaic, HasTheParametersOfThePaper) {
  for (const int64_t heads : {1, 3})
    EXPECT_EQ(ComplexMosaic({.heads = heads}).parameter_count(), 3 * 3 * 2 * 3);
}

// The authors store [6, 6] real numbers, draw and project them, and project them again in every
// forward pass: p is half the sum of a block's diagonal, q half the difference of the others.
TEST(ComplexMosaic, IsMovedAsTheAuthorsFormIs) {
  const auto projected = [](const at::Tensor& real) {  // [2, 2] -> re, im
    return at::stack({(real[0][0] + real[1][1]) / 2, (real[1][0] - real[0][1]) / 2});
  };
  const at::Tensor theirs = drawn({2, 2}, 5, 0.4).requires_grad_(true);
  const at::Tensor ours = projected(theirs).detach().requires_grad_(true);
  const at::Tensor wanted = drawn({2}, 6, 0.4);
  AdamW optimizer({{"theirs", theirs}, {"ours", ours}}, kAdam);
  for (int step = 0; step < 20; ++step) {
    optimizer.clear_gradients();
    (projected(theirs) - wanted).pow(4).sum().backward();
    (ours - wanted).pow(4).sum().backward();
    optimizer.step(0.01);
  }
  EXPECT_LT(test::relative_error(ours.detach(), projected(theirs).detach()), 1e-4);
}

TEST(ComplexMosaic, BeginsAsTheAuthorsDrawAndProject) {
  const ComplexMosaic model({.inputs = 200, .outputs = 6, .heads = 1, .channels = 200}, 7);
  const at::Tensor key = model.named_parameters()["key"].detach();
  const double bound = 1 / std::sqrt(200.0);
  EXPECT_LT(key.abs().max().item<double>(), bound);
  // The mean of two uniform numbers has half the variance of one, bound^2 / 3.
  EXPECT_NEAR(key.square().mean().item<double>(), bound * bound / 6, 0.03 * bound * bound / 6);
}

// W_z W_psi = 1 / 6, and the rows of W_phi stand at right angles.
TEST(ComplexMosaic, MayBeginWithAUnitaryMatrix) {
  const auto matrix = [](const ComplexMosaic& model, const char* name) {
    return at::view_as_complex(model.named_parameters()[name].detach());
  };
  const ComplexMosaicConfig config{.start = ComplexStart::kUnitary};
  const ComplexMosaic model(config, 3);
  const at::Tensor identity = at::view_as_complex(at::stack({at::eye(3), at::zeros({3, 3})}, -1));
  const at::Tensor key = matrix(model, "key");
  EXPECT_TRUE(at::allclose(key.mm(key.conj().t()), identity / 6, 1e-5, 1e-6));
  EXPECT_TRUE(
      at::allclose(matrix(model, "output").mm(matrix(model, "value")), identity / 6, 1e-5, 1e-6));
  EXPECT_TRUE(matrix(model, "value").equal(key));
  EXPECT_TRUE(matrix(ComplexMosaic(config, 3), "key").equal(key));
  EXPECT_FALSE(matrix(ComplexMosaic(config, 4), "key").equal(key));
}

TEST(ComplexMosaic, LearnsOneBatchByHeart) {
  // Two complex numbers that turn at different speeds; every later step is one already seen.
  at::Tensor angles =
      at::arange(24, at::kFloat).unsqueeze(1) * (2 * M_PI / at::tensor({6.0F, 8.0F}));  // [T, 2]
  const at::Tensor x =
      at::stack({angles.sin(), angles.cos()}, -1).flatten(1).unsqueeze(0);  // [1, T, 4]
  ComplexMosaic model({.inputs = 4, .outputs = 4, .heads = 2, .channels = 4}, 2);
  AdamW optimizer(trainable_parameters(model), kAdam);
  double loss = 1;
  for (int step = 0; step < 600 && loss > 1e-3; ++step) {
    const at::Tensor now =
        at::mse_loss(model.forward(x, {}, 12).slice(1, 0, 11), x.slice(1, 13, 24));
    loss = now.item<double>();
    optimizer.clear_gradients();
    now.backward();
    optimizer.step(0.01);
  }
  EXPECT_LT(loss, 1e-3);
}

TEST(ComplexMosaic, RefusesTheStateOfAnotherNumberOfHeads) {
  ComplexMosaic two({.inputs = 8, .outputs = 4, .heads = 2, .channels = 8}, 3);
  ComplexMosaic one({.inputs = 8, .outputs = 4, .heads = 1, .channels = 8}, 3);
  const at::Tensor x = at::zeros({2, 3, 8});
  SequenceState state = two.read(x, two.empty_state()).state;
  EXPECT_THROW(one.read(x, std::move(state)), UsageError);
  EXPECT_EQ(state.rows(), 2);
}

TEST(ComplexMosaic, RefusesImpossibleSizes) {
  const auto refusal = [](const ComplexMosaicConfig& config) {
    return test::message_of<UsageError>([&] { ComplexMosaic(config, {}, at::kMeta); });
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_THAT(refusal({.inputs = 5}), testing::HasSubstr("an even number"));
  EXPECT_THAT(refusal({.heads = 2}), testing::HasSubstr("a multiple of 4"));
  EXPECT_THAT(refusal({.beta = 0}), testing::HasSubstr("model.beta is 0"));
  EXPECT_THAT(refusal({.outputs = 4, .start = ComplexStart::kUnitary}),
              testing::HasSubstr("model.start is 'unitary'"));
}

}  // namespace

namespace test {

constexpr ModelForm kComplexMosaic = {"complex_mosaic", "complex_mosaic",
                                      R"(, "heads": 2, "channels": 8)"};
INSTANTIATE_TEST_SUITE_P(Networks, SequenceModelTest, testing::Values(kComplexMosaic), name_of);
INSTANTIATE_TEST_SUITE_P(Forms, RecurrentNetworkTest, testing::Values(kComplexMosaic), name_of);

}  // namespace test
}  // namespace tessera
