#include "lab/learner/moons/complex_mosaic.h"

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

const OpUnderTest complex_linear_op = [](const std::vector<at::Tensor>& in) {
  return ops::complex_linear(in[0], in[1]);
};

// (1 + 2i) (3 - i) + (2 + i) i = 5 + 5i - 1 + 2i.
TEST(ComplexLinear, HandExample) {
  const at::Tensor x = at::tensor({3.0F, -1.0F, 0.0F, 1.0F});
  const at::Tensor weight = at::tensor({1.0F, 2.0F, 2.0F, 1.0F}).view({1, 2, 2});
  EXPECT_TRUE(ops::complex_linear(x, weight).equal(at::tensor({4.0F, 7.0F})));
}

TEST(ComplexLinear, IsTheSlowLoop) {
  at::manual_seed(1);
  const int64_t rows = 4, in = 3, out = 2;
  const at::Tensor x = at::randint(-5, 6, {rows, 2 * in}, at::kFloat),
                   weight = at::randint(-5, 6, {out, in, 2}, at::kFloat);
  const at::Tensor y = ops::complex_linear(x, weight);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < out; ++o) {
      float real = 0, imaginary = 0;
      for (int64_t i = 0; i < in; ++i) {
        const float wr = weight[o][i][0].item<float>(), wi = weight[o][i][1].item<float>();
        const float xr = x[r][2 * i].item<float>(), xi = x[r][2 * i + 1].item<float>();
        real += wr * xr - wi * xi;
        imaginary += wi * xr + wr * xi;
      }
      EXPECT_EQ(y[r][2 * o].item<float>(), real);
      EXPECT_EQ(y[r][2 * o + 1].item<float>(), imaginary);
    }
}

TEST(ComplexLinear, GradientsAgreeWithCentralDifferences) {
  EXPECT_TRUE(test::gradients_agree(complex_linear_op, {leaf({2, 3, 4}), leaf({3, 2, 2})}));
}

TEST(ComplexLinear, FloatAgreesWithDouble) {
  for (int64_t rows : {0, 1, 19})
    expect_float_agrees_with_double(
        complex_linear_op, {at::randn({2, rows, 6}, real()), at::randn({4, 3, 2}, real())});
}

TEST(ComplexLinear, RefusesOtherShapesAndTypes) {
  const at::Tensor weight = at::zeros({3, 2, 2});
  EXPECT_THROW(ops::complex_linear(at::zeros({5, 3}), weight), UsageError);
  EXPECT_THROW(ops::complex_linear(at::zeros({}), weight), UsageError);
  EXPECT_THROW(ops::complex_linear(at::zeros({5, 4}, at::kDouble), weight), UsageError);
  EXPECT_THROW(ops::complex_linear(at::zeros({5, 4}), weight.flatten(1)), UsageError);
  EXPECT_THROW(ops::complex_linear(at::zeros({5, 4}), at::zeros({3, 2, 3})), UsageError);
}

}  // namespace
}  // namespace tessera::ops
