#include "tessera/ops/bounded_exponential.h"

#include <cmath>

#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

OpUnderTest op(double slope, double bound) {
  return
      [=](const std::vector<at::Tensor>& in) { return bounded_exponential(in[0], slope, bound); };
}

TEST(BoundedExponential, HandExample) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor y = bounded_exponential(at::tensor({0.0, 0.5, 3.0}, dtype), 2, 1.5);
    EXPECT_EQ(y[0].item<double>(), 1);
    EXPECT_NEAR(y[1].item<double>(), std::exp(1.0), 1e-6);
    EXPECT_NEAR(y[2].item<double>(), std::exp(1.5), 1e-6);
  }
  EXPECT_NEAR(bounded_exponential(at::ones({1}), 20)[0].item<double>() / std::exp(20.0), 1, 1e-6);
}

TEST(BoundedExponential, GradientsAgreeWithCentralDifferences) {
  const at::Tensor x = at::tensor({-1.0, 0.1, 0.3, 0.9}, real()).requires_grad_(true);
  EXPECT_TRUE(test::gradients_agree(op(3, 1.5), {x}));
  EXPECT_TRUE(test::gradients_agree(op(-2, 0), {x}));
}

TEST(BoundedExponential, FloatAgreesWithDoubleWithAndWithoutGradient) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({4, 7}, real());
  expect_float_agrees_with_double(op(2, 1), {x});
  at::NoGradGuard no_grad;
  const at::Tensor few = bounded_exponential(x.to(at::kFloat).t(), 2, 1);
  EXPECT_LT(test::relative_error(few.to(at::kDouble), bounded_exponential(x.t(), 2, 1)), 1e-6);
  EXPECT_EQ(bounded_exponential(at::zeros({0}), 1).numel(), 0);
}

TEST(BoundedExponential, RefusesWholeNumbers) {
  EXPECT_THROW(bounded_exponential(at::ones({2}, at::kLong), 1), c10::ValueError);
}

}  // namespace
}  // namespace tessera::ops
