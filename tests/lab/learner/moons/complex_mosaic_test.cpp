#include "lab/learner/moons/complex_mosaic.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <complex>
#include <nlohmann/json.hpp>

#include "tessera/base/error.h"
#include "tessera/train/checkpoint.h"
#include "tessera/train/optimizer.h"
#include "tests/model/model_checks.h"
#include "tests/support/drawn.h"
#include "tests/support/numerical_gradient.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using test::drawn;
using test::go_on;

constexpr double kComplexTolerance = 1e-10;  // other order of the same sums, in double
constexpr AdamWConfig kAdam = {.weight_decay = 0, .beta2 = 0.999, .bias_correction = false};

/// Four complex inputs, two complex outputs, two memories of two complex channels, in double.
ComplexMosaic small_complex_mosaic() {
  ComplexMosaic model({.inputs = 8, .outputs = 4, .heads = 2, .channels = 8, .beta = 5}, 3);
  model.to(at::kDouble);
  return model;
}
at::Tensor inputs(int64_t B, int64_t T, int64_t seed = 1) {
  return drawn({B, T, 8}, seed, 0.4);
}

at::Tensor whole(ComplexMosaic& model, const at::Tensor& x) {
  at::NoGradGuard no_grad;
  return model.forward(x);
}

void expect_equal(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_LT(test::relative_error(actual, expected), kComplexTolerance);
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
  const at::Tensor x = inputs(1, 9), z = whole(model, x);
  const auto parameters = model.named_parameters();
  const auto number = [](const at::Tensor& pair) {
    return Complex(pair[0].item<double>(), pair[1].item<double>());
  };
  const auto product = [&](const char* name, const std::vector<Complex>& from) {
    const at::Tensor& matrix = parameters[name];
    std::vector<Complex> to(static_cast<size_t>(matrix.size(0)));
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
      EXPECT_LT(std::abs(number(z[0][t].narrow(0, 2 * o, 2)) - expected[static_cast<size_t>(o)]),
                1e-12)
          << t;
  }
}

TEST(ComplexMosaic, GradientsAgreeWithCentralDifferences) {
  ComplexMosaic model = small_complex_mosaic();
  std::vector<at::Tensor> leaves = model.parameters();
  const at::Tensor x = inputs(2, 6).requires_grad_(true), weights = drawn({2, 6, 4}, 8, 0.4);
  leaves.push_back(x);
  const auto value = [&] { return (model.forward(x) * weights).sum(); };
  const auto gradients = torch::autograd::grad({value()}, leaves);
  at::NoGradGuard no_grad;
  for (size_t k = 0; k < leaves.size(); ++k)
    for (int64_t i = 0; i < leaves[k].numel(); ++i) {
      const at::Tensor number = leaves[k].view({-1})[i];
      number.add_(1e-5);
      const double above = value().item<double>();
      number.sub_(2e-5);
      const double below = value().item<double>();
      number.add_(1e-5);
      EXPECT_NEAR(gradients[k].reshape({-1})[i].item<double>(), (above - below) / 2e-5, 1e-6)
          << k << " " << i;
    }
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
  EXPECT_TRUE(ComplexMosaic({}, 3).parameters()[0].equal(ComplexMosaic({}, 3).parameters()[0]));
  EXPECT_FALSE(ComplexMosaic({}, 3).parameters()[0].equal(ComplexMosaic({}, 4).parameters()[0]));
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

TEST(ComplexMosaic, ReadingInAnyPiecesGivesTheWhole) {
  ComplexMosaic model = small_complex_mosaic();
  const at::Tensor x = inputs(2, 11), z = whole(model, x);
  for (const std::vector<int64_t>& lengths :
       {std::vector<int64_t>(11, 1), {11}, {1, 10}, {0, 5, 0, 1, 3, 2, 0}, {10, 1}})
    expect_equal(test::read_in_pieces(model, x, lengths, model.empty_state()), z);
  for (int64_t first : {0, 1, 2, 10, 11}) {
    expect_equal(model.forward(x, {}, first).detach(), z.slice(1, first));
    expect_equal(model.read(x, model.empty_state(), first).outputs, z.slice(1, first));
  }
}

TEST(ComplexMosaic, ForksAndChosenRowsAreIndependent) {
  ComplexMosaic model = small_complex_mosaic();
  const at::Tensor x = inputs(3, 6), more = inputs(3, 4, 2);
  SequenceState state = model.empty_state();
  go_on(model, x, state);
  SequenceState fork = state, chosen = state.select({2, 0, 2});
  const SequenceState one = state.select({0}), two = state.select({1, 2});
  go_on(model, inputs(3, 4, 3), state);
  const at::Tensor expected = whole(model, at::cat({x, more}, 1)).slice(1, 6);
  expect_equal(go_on(model, more, fork), expected);
  const at::Tensor rows = at::tensor({2, 0, 2}, at::kLong);
  expect_equal(go_on(model, more.index_select(0, rows), chosen), expected.index_select(0, rows));
  SequenceState stacked = SequenceState::stack({&one, &two});
  expect_equal(go_on(model, more, stacked), expected);
}

TEST(ComplexMosaic, AStateSurvivesAFile) {
  ComplexMosaic model({}, 1);
  const auto steps = [](int64_t T, int64_t seed) {
    return drawn({2, T, 6}, seed, 0.4).to(at::kFloat);
  };
  for (const int64_t read : {1, 5}) {
    SequenceState state = model.empty_state();
    go_on(model, steps(read, 1), state);
    TensorFile file = test::through_a_file(state);
    SequenceState restored = model.state_from(file, model.empty_state());
    EXPECT_TRUE(go_on(model, steps(3, 2), restored).equal(go_on(model, steps(3, 2), state)));
    file.tensors["pending_key"] = file.tensors["pending_key"].narrow(0, 0, 1);
    EXPECT_THROW(model.state_from(file, model.empty_state()), DataError);
    file.tensors.erase("pending_key");
    EXPECT_THROW(model.state_from(file, model.empty_state()), DataError);
  }
}

TEST(ComplexMosaic, ParametersSurviveAFile) {
  ComplexMosaic model({.heads = 1}, 5);
  const auto loaded = test::through_a_file(model);
  EXPECT_EQ(loaded->kind(), "complex_mosaic");
  at::NoGradGuard no_grad;
  const at::Tensor x = drawn({2, 7, 6}, 1, 0.4).to(at::kFloat);
  EXPECT_TRUE(loaded->forward(x).equal(model.forward(x)));
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

TEST(ComplexMosaic, TheFutureDoesNotReachThePast) {
  ComplexMosaic model = small_complex_mosaic();
  const at::Tensor x = inputs(2, 8), before = whole(model, x);
  for (int64_t changed : {0, 1, 5, 7}) {
    at::Tensor other = x.clone();
    other.select(1, changed).add_(1);
    const at::Tensor after = whole(model, other);
    EXPECT_TRUE(after.narrow(1, 0, changed).equal(before.narrow(1, 0, changed))) << changed;
    EXPECT_FALSE(after.select(1, 7).equal(before.select(1, 7))) << changed;
  }
}

TEST(ComplexMosaic, ReadsEmptyAndSingleSequences) {
  ComplexMosaic model({}, 1);
  EXPECT_EQ(model.forward(at::zeros({2, 0, 6})).sizes(), at::IntArrayRef({2, 0, 6}));
  EXPECT_EQ(model.forward(at::zeros({0, 3, 6})).sizes(), at::IntArrayRef({0, 3, 6}));
  EXPECT_TRUE(model.forward(at::ones({1, 1, 6})).equal(at::zeros({1, 1, 6})));
  EXPECT_TRUE(
      model.read(at::ones({1, 1, 6}), model.empty_state()).outputs.equal(at::zeros({1, 1, 6})));
  EXPECT_EQ(model.read(at::zeros({2, 0, 6}), model.empty_state()).state.rows(), 0);
}

TEST(ComplexMosaic, RefusedInputsLeaveTheStateAsItWas) {
  ComplexMosaic model = small_complex_mosaic();
  const at::Tensor x = inputs(2, 6), more = inputs(2, 3, 2);
  SequenceState state = model.empty_state();
  go_on(model, x, state);
  for (const at::Tensor& wrong : {more.narrow(2, 0, 4), more[0], more.to(at::kFloat),
                                  more.to(at::kLong), inputs(3, 2), inputs(1, 2)})
    EXPECT_THROW(model.read(wrong, std::move(state)), UsageError);
  for (int64_t first : {-1, 4}) EXPECT_THROW(model.read(more, std::move(state), first), UsageError);
  expect_equal(go_on(model, more, state), whole(model, at::cat({x, more}, 1)).slice(1, 6));
  for (const at::Tensor& wrong : {x.narrow(2, 0, 4), x[0], x.to(at::kFloat)})
    EXPECT_THROW(model.forward(wrong), UsageError);
  EXPECT_THROW(model.forward(x, {}, 7), UsageError);

  ComplexMosaic other({.inputs = 8, .outputs = 4, .heads = 1, .channels = 8, .beta = 5}, 3);
  other.to(at::kDouble);
  EXPECT_THROW(other.read(more, std::move(state)), UsageError);
  EXPECT_EQ(state.rows(), 2);
}

TEST(ComplexMosaic, RefusesImpossibleSizes) {
  const auto refusal = [](const ComplexMosaicConfig& config) {
    return test::message_of<UsageError>([&] { ComplexMosaic(config, {}, at::kMeta); });
  };
  EXPECT_EQ(refusal({}), "");
  for (const int64_t wrong : {int64_t{0}, int64_t{-2}, INT64_MAX}) {
    EXPECT_THAT(refusal({.inputs = wrong}), testing::HasSubstr("model.inputs is"));
    EXPECT_THAT(refusal({.outputs = wrong}), testing::HasSubstr("model.outputs is"));
    EXPECT_THAT(refusal({.heads = wrong}), testing::HasSubstr("model.heads is"));
    EXPECT_THAT(refusal({.channels = wrong}), testing::HasSubstr("model.channels is"));
  }
  EXPECT_THAT(refusal({.inputs = 5}), testing::HasSubstr("an even number"));
  EXPECT_THAT(refusal({.heads = 2}), testing::HasSubstr("a multiple of 4"));
  EXPECT_THAT(refusal({.beta = 0}), testing::HasSubstr("model.beta is 0"));
  EXPECT_THAT(refusal({.outputs = 4, .start = ComplexStart::kUnitary}),
              testing::HasSubstr("model.start is 'unitary'"));
}

}  // namespace
}  // namespace tessera
