#include "tessera/ops/scaled_unit_norm.h"

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

OpUnderTest scaled_unit_norm_op(double epsilon) {
  return [epsilon](const std::vector<at::Tensor>& in) {
    return scaled_unit_norm(in[0], in[1], epsilon);
  };
}

TEST(ScaledUnitNorm, HandExample) {
  const at::Tensor x = at::tensor({3.0f, 4.0f, 0.0f, 0.0f}).view({1, 1, 2, 2});
  const at::Tensor scale = at::tensor({12.0f, 7.0f});
  // |(3, 4)| + 1 = 6; a zero vector stays zero
  const at::Tensor expected = at::tensor({6.0f, 8.0f, 0.0f, 0.0f}).view({1, 1, 2, 2});
  EXPECT_TRUE(scaled_unit_norm(x, scale, 1).equal(expected));
  EXPECT_TRUE(scaled_unit_norm(x.to(at::kDouble), scale.to(at::kDouble), 1)
                  .equal(expected.to(at::kDouble)));
}

TEST(ScaledUnitNorm, GradientsAgreeWithCentralDifferences) {
  EXPECT_TRUE(test::gradients_agree(scaled_unit_norm_op(1e-3), {leaf({2, 3, 2, 4}), leaf({2})}));
  EXPECT_TRUE(test::gradients_agree(scaled_unit_norm_op(0.5), {leaf({2, 1}), leaf({2})}));
}

TEST(ScaledUnitNorm, GradientAtZeroIsScaleOverEpsilon) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const auto result = value_and_gradients(scaled_unit_norm_op(0.5),
                                            {at::zeros({1, 2}, at::TensorOptions().dtype(dtype)),
                                             at::full({1}, 3, at::TensorOptions().dtype(dtype))});
    const at::Tensor expected = at::cos(at::arange(2, real()) * 1.7 + 1) * 6;
    EXPECT_LT(test::relative_error(result[1].to(at::kDouble), expected.view({1, 2})), 1e-6);
    EXPECT_EQ(result[2].item<double>(), 0);
  }
}

TEST(ScaledUnitNorm, FloatAgreesWithDouble) {
  at::manual_seed(1);
  for (int64_t T : {0, 1, 5})
    for (int64_t D : {2, 7, 16, 24, 130}) {
      const at::Tensor scale = at::randn({3}, real());
      expect_float_agrees_with_double(scaled_unit_norm_op(1e-10),
                                      {at::randn({2, T, 3, D}, real()), scale});
      expect_float_agrees_with_double(scaled_unit_norm_op(0.1),
                                      {at::randn({T, 3, D}, real()), scale});
    }
}

TEST(ScaledUnitNorm, ReadsStridedViews) {
  const OpUnderTest sliced = [](const std::vector<at::Tensor>& in) {
    return scaled_unit_norm(in[0].narrow(3, 1, 5), in[1], 1e-6) +
           scaled_unit_norm(in[0].transpose(0, 1).narrow(3, 1, 5), in[1], 1e-6).transpose(0, 1);
  };
  expect_float_agrees_with_double(sliced, {at::randn({2, 4, 3, 8}, real()), at::ones({3}, real())});
}

TEST(ScaledUnitNorm, RefusesBadArguments) {
  EXPECT_THROW(scaled_unit_norm(at::randn({3}), at::ones({3}), 1), UsageError);
  EXPECT_THROW(scaled_unit_norm(at::randn({2, 3}), at::ones({3}), 1), UsageError);
  EXPECT_THROW(scaled_unit_norm(at::randn({2, 3}), at::ones({2}, real()), 1), UsageError);
  EXPECT_THROW(scaled_unit_norm(at::randn({2, 3}), at::ones({2}), -1), UsageError);
}

}  // namespace
}  // namespace tessera::ops
