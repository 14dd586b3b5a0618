#include "tessera/ops/dropout.h"

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

TEST(ActivationDropout, KeepsTheExpectedShareAndScale) {
  const at::Tensor y = activation_dropout(at::ones({200, 500}), {0.25, 7});
  EXPECT_NEAR(y.eq(0).to(at::kDouble).mean().item<double>(), 0.25, 0.006);  // 4 standard errors
  EXPECT_NEAR(y.max().item<double>(), 1.0 / 0.75, 1e-6);
}

TEST(ActivationDropout, FusedMaskIsTheComposedMask) {
  const at::Tensor x = at::rand({3, 5, 17}) + 1;
  const Dropout dropout{0.4, 123456789012345ull};
  EXPECT_TRUE(at::equal(activation_dropout(x, dropout).eq(0),
                        activation_dropout(x.to(at::kDouble), dropout).eq(0)));
  EXPECT_FALSE(at::equal(activation_dropout(x, dropout), activation_dropout(x, {0.4, 1})));
}

TEST(ActivationDropout, GradientIsTheMask) {
  const at::Tensor x = at::rand({2, 3, 4}, at::kDouble).requires_grad_(true);
  EXPECT_TRUE(test::gradients_agree(
      [](const auto& in) {
        return activation_dropout(in[0], {0.5, 3});
      },
      {x}));
}

TEST(ActivationDropout, FloatAgreesWithDouble) {
  at::manual_seed(3);
  expect_float_agrees_with_double(
      [](const auto& in) {
        return activation_dropout(in[0], {0.3, uint64_t{1} << 40});
      },
      {at::randn({3, 70, 37}, real())});
}

TEST(ActivationDropout, EmptyZeroAndRefused) {
  EXPECT_EQ(activation_dropout(at::zeros({0, 4}), {0.5, 1}).numel(), 0);
  const at::Tensor x = at::rand({2, 2});
  EXPECT_TRUE(activation_dropout(x, {}).is_same(x));
  EXPECT_THROW(activation_dropout(x, {1.0, 1}), UsageError);
  EXPECT_THROW(activation_dropout(x, {-0.1, 1}), UsageError);
}

}  // namespace
}  // namespace tessera::ops
