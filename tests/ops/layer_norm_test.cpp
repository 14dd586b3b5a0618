#include "tessera/ops/layer_norm.h"

#include <ATen/core/grad_mode.h>

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

const OpUnderTest layer_norm_op = [](const std::vector<at::Tensor>& in) {
  return ops::layer_norm(in[0], in[1], in.size() > 2 ? in[2] : at::Tensor(), 1e-5);
};

TEST(LayerNorm, HandExample) {
  // Mean 3, variance 4; with epsilon 5 the divisor is 3.
  const at::Tensor x = at::tensor({1.0f, 5.0f}), weight = at::tensor({3.0f, 6.0f});
  const at::Tensor y = ops::layer_norm(x, weight, at::tensor({10.0f, 20.0f}), 5);
  EXPECT_NEAR(y[0].item<float>(), 8, 1e-6);
  EXPECT_NEAR(y[1].item<float>(), 24, 1e-6);
}

TEST(LayerNorm, GradientsAgreeWithCentralDifferences) {
  EXPECT_TRUE(test::gradients_agree(layer_norm_op, {leaf({2, 3, 4}), leaf({4}), leaf({4})}));
}

TEST(LayerNorm, FloatAgreesWithDoubleWithAndWithoutGradient) {
  at::manual_seed(1);
  for (int64_t rows : {0, 1, 16, 17})
    for (int64_t C : {3, 16, 37, 256}) {
      const std::vector<at::Tensor> inputs = {at::randn({rows, 1, C}, real()) * 3 + 5,
                                              at::randn({C}, real()), at::randn({C}, real())};
      if (rows > 0) expect_float_agrees_with_double(layer_norm_op, inputs);
      at::NoGradGuard no_grad;
      for (bool bias : {false, true}) {
        std::vector<at::Tensor> floats, doubles;
        for (size_t k = 0; k < (bias ? 3 : 2); ++k) {
          floats.push_back(inputs[k].to(at::kFloat));
          doubles.push_back(floats.back().to(at::kDouble));
        }
        EXPECT_LT(
            test::relative_error(layer_norm_op(floats).to(at::kDouble), layer_norm_op(doubles)),
            1e-5)
            << rows << " rows, " << C << " channels, bias " << bias;
      }
    }
}

TEST(LayerNorm, ReadsStridedRows) {
  at::NoGradGuard no_grad;
  const at::Tensor x = at::randn({8, 3}).t(), weight = at::randn({8});
  EXPECT_TRUE(at::allclose(layer_norm_op({x, weight}), layer_norm_op({x.contiguous(), weight}),
                           1e-6, 1e-6));
}

TEST(LayerNorm, RefusesBadArguments) {
  const at::Tensor x = at::randn({2, 3});
  EXPECT_THROW(ops::layer_norm(x, at::ones({4}), {}, 1e-5), UsageError);
  EXPECT_THROW(ops::layer_norm(x, at::ones({3}), at::ones({2}), 1e-5), UsageError);
  EXPECT_THROW(ops::layer_norm(x, at::ones({3}, real()), {}, 1e-5), UsageError);
  EXPECT_THROW(ops::layer_norm(x.to(at::kLong), at::ones({3}), {}, 1e-5), UsageError);
}

}  // namespace
}  // namespace tessera::ops
