#include "tessera/ops/linear_cross_entropy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

TEST(LinearCrossEntropy, HandExample) {
  // Logits 2 * [1, 0] = [2, 0]; target 1: loss = log(e^2 + 1) - 0. The second row is ignored.
  const at::Tensor hidden = at::ones({2, 1});
  const at::Tensor embedding = at::tensor({1.0f, 0.0f}).view({2, 1});
  const at::Tensor targets = at::tensor({int64_t{1}, int64_t{-100}});
  EXPECT_NEAR(linear_cross_entropy(hidden, embedding, 2.0, targets).item<float>(),
              std::log(std::exp(2.0) + 1), 1e-6);
  const at::Tensor rows = linear_cross_entropy_per_row(hidden, embedding, 2.0, targets);
  EXPECT_NEAR(rows[0].item<float>(), std::log(std::exp(2.0) + 1), 1e-6);
  EXPECT_EQ(rows[1].item<float>(), 0);
}

TEST(LinearCrossEntropy, AgreesWithTheComposedFormulaOverManyChunks) {
  at::manual_seed(1);
  const int64_t N = 70, C = 9, V = 60000;  // 17 rows a chunk
  const at::Tensor hidden = at::randn({N, C}).requires_grad_(true);
  const at::Tensor embedding = at::randn({V, C}).requires_grad_(true);
  const at::Tensor targets = at::randint(V, {N}, at::kLong);
  targets[3] = -100;
  const OpUnderTest fused = [&](const std::vector<at::Tensor>& in) {
    return linear_cross_entropy(in[0], in[1], 0.7, targets);
  };
  const OpUnderTest composed = [&](const std::vector<at::Tensor>& in) {
    return at::cross_entropy_loss(at::matmul(in[0], in[1].t()) * 0.7, targets);
  };
  const auto actual = value_and_gradients(fused, {hidden, embedding});
  const auto expected = value_and_gradients(composed, {hidden, embedding});
  EXPECT_NEAR(actual[0].item<float>(), expected[0].item<float>(), 1e-5);
  EXPECT_LT(test::relative_error(actual[1], expected[1]), 1e-5);
  EXPECT_LT(test::relative_error(actual[2], expected[2]), 1e-5);
  const at::Tensor rows = linear_cross_entropy_per_row(hidden, embedding, 0.7, targets);
  EXPECT_NEAR(rows.sum().item<float>() / (N - 1), expected[0].item<float>(), 1e-5);
  EXPECT_FALSE(rows.requires_grad());
}

TEST(LinearCrossEntropy, ALogitThatIsNotANumberMakesTheLossNone) {
  const at::Tensor embedding = at::ones({70, 3}), targets = at::tensor({int64_t{2}});
  embedding[5][0] = NAN;  // not the target's
  const at::Tensor loss = linear_cross_entropy(at::ones({1, 3}), embedding, 1, targets);
  EXPECT_TRUE(std::isnan(loss.item<float>()));
}

TEST(LinearCrossEntropy, FloatAgreesWithDouble) {
  at::manual_seed(5);
  for (int64_t V : {1, 2, 17, 64, 1001}) {
    at::Tensor targets = at::randint(V, {13}, at::kLong);
    targets[2] = -100;
    expect_float_agrees_with_double(
        [&](const std::vector<at::Tensor>& in) {
          return linear_cross_entropy(in[0], in[1], -0.8, targets);
        },
        {at::randn({13, 6}, real()), at::randn({V, 6}, real())});
  }
}

TEST(LinearCrossEntropy, GradientsAgreeWithCentralDifferences) {
  at::manual_seed(2);
  const at::Tensor targets = at::tensor({int64_t{0}, int64_t{4}, int64_t{-7}, int64_t{2}});
  EXPECT_TRUE(test::gradients_agree(
      [&](const std::vector<at::Tensor>& in) {
        return linear_cross_entropy(in[0], in[1], 1.3, targets, -7);
      },
      {leaf({4, 3}), leaf({5, 3})}));
}

TEST(LinearCrossEntropy, BFloat16IsCloseAndItsGradientsAreFloat) {
  at::manual_seed(3);
  at::Tensor hidden = at::randn({40, 16}).requires_grad_(true);
  at::Tensor embedding = at::randn({50, 16}).requires_grad_(true);
  const at::Tensor targets = at::randint(50, {40}, at::kLong);
  const at::Tensor exact = linear_cross_entropy(hidden, embedding, 0.25, targets);
  exact.backward();
  const at::Tensor exact_gradient = embedding.grad().clone();
  embedding.mutable_grad().zero_();
  const at::Tensor rounded =
      linear_cross_entropy(hidden, embedding, 0.25, targets, -100, Precision::kBFloat16);
  rounded.backward();
  EXPECT_NEAR(rounded.item<float>(), exact.item<float>(), 0.01);
  EXPECT_NE(rounded.item<float>(), exact.item<float>());
  EXPECT_EQ(embedding.grad().scalar_type(), at::kFloat);
  EXPECT_LT(test::relative_error(embedding.grad(), exact_gradient), 0.02);
}

TEST(LinearCrossEntropy, NothingToCountIsZero) {
  const at::Tensor embedding = at::randn({5, 3});
  EXPECT_EQ(linear_cross_entropy(at::randn({0, 3}), embedding, 1, at::empty({0}, at::kLong))
                .item<float>(),
            0);
  at::Tensor hidden = at::randn({2, 3}).requires_grad_(true);
  const at::Tensor loss =
      linear_cross_entropy(hidden, embedding, 1, at::full({2}, -100, at::kLong));
  loss.backward();
  EXPECT_EQ(loss.item<float>(), 0);
  EXPECT_EQ(hidden.grad().abs().max().item<float>(), 0);
}

TEST(LinearCrossEntropy, AnIgnoredRowThatIsNotANumberIsIgnored) {
  const at::Tensor targets = at::tensor({int64_t{1}, int64_t{-100}});
  for (const auto type : {at::kFloat, at::kDouble}) {
    const at::Tensor hidden = at::ones({2, 3}, type), embedding = at::eye(3, type);
    hidden[1].fill_(NAN);
    const double loss = std::log(3);
    EXPECT_NEAR(linear_cross_entropy(hidden, embedding, 1, targets).item<double>(), loss, 1e-6);
    const at::Tensor rows = linear_cross_entropy_per_row(hidden, embedding, 1, targets);
    EXPECT_NEAR(rows[0].item<double>(), loss, 1e-6);
    EXPECT_EQ(rows[1].item<double>(), 0);
  }
}

TEST(LinearCrossEntropy, HasNoSecondDerivatives) {
  const at::Tensor hidden = at::randn({2, 3}).requires_grad_(true);
  const at::Tensor loss =
      linear_cross_entropy(hidden, at::randn({5, 3}), 1, at::ones({2}, at::kLong));
  EXPECT_THROW(loss.backward({}, /*keep_graph=*/true, /*create_graph=*/true), c10::Error);
}

TEST(LinearCrossEntropy, RefusesBadArguments) {
  const at::Tensor hidden = at::randn({2, 3}), embedding = at::randn({5, 3});
  const auto targets = [](int64_t a, int64_t b) { return at::tensor({a, b}); };
  EXPECT_THROW(linear_cross_entropy(hidden, embedding, 1, targets(0, 5)), UsageError);
  EXPECT_THROW(linear_cross_entropy(hidden, embedding, 1, targets(0, -1)), UsageError);
  EXPECT_THROW(linear_cross_entropy(hidden, at::randn({5, 4}), 1, targets(0, 1)), UsageError);
  EXPECT_THROW(linear_cross_entropy(hidden, embedding.to(at::kDouble), 1, targets(0, 1)),
               UsageError);
  EXPECT_THROW(linear_cross_entropy(hidden, embedding, 1, targets(0, 1).to(at::kInt)), UsageError);
  EXPECT_THROW(linear_cross_entropy(hidden[0], embedding, 1, targets(0, 1)), UsageError);
  EXPECT_THROW(linear_cross_entropy(hidden, at::randn({0, 3}), 1, targets(-100, -100)), UsageError);
  EXPECT_THROW(linear_cross_entropy(hidden, embedding, 1, at::zeros({3}, at::kLong)), UsageError);
}

}  // namespace
}  // namespace tessera::ops
