#include "tessera/ops/linear.h"

#include <ATen/core/grad_mode.h>

#include "tessera/base/error.h"
#include "tessera/ops/detail/dispatch.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

const OpUnderTest linear_op = [](const std::vector<at::Tensor>& in) {
  return ops::linear(in[0], in[1], in.size() > 2 ? in[2] : at::Tensor());
};

TEST(Linear, HandExample) {
  const at::Tensor x = at::tensor({1.0f, 2.0f}), weight = at::tensor({3.0f, 4.0f}).view({1, 2});
  EXPECT_EQ(ops::linear(x, weight).item<float>(), 11);
  EXPECT_EQ(ops::linear(x, weight, at::tensor({0.5f})).item<float>(), 11.5f);
}

TEST(Linear, GradientsAgreeWithCentralDifferences) {
  EXPECT_TRUE(test::gradients_agree(linear_op, {leaf({2, 3, 4}), leaf({5, 4}), leaf({5})}));
}

TEST(Linear, FloatAgreesWithDouble) {
  for (int64_t rows : {0, 1, 19})
    expect_float_agrees_with_double(linear_op, {at::randn({2, rows, 7}, real()),
                                                at::randn({3, 7}, real()), at::randn({3}, real())});
}

TEST(Linear, FewRowsWithoutGradientAgreeWithDouble) {
  at::manual_seed(2);
  at::NoGradGuard no_grad;
  for (int64_t rows : {0, 1, 5, 16, 17})
    for (int64_t in : {1, 16, 37, 256})
      for (int64_t out : {1, 4, 7, 300}) {
        // Transposed, so that neither operand lies in the order in which it is read.
        const at::Tensor x = at::randn({in, rows}).t(), bias = at::randn({out});
        const at::Tensor weight = at::randn({in, out}).t();
        for (const at::Tensor& b : {bias, at::Tensor()}) {
          const at::Tensor expected = ops::linear(x.to(at::kDouble), weight.to(at::kDouble),
                                                  b.defined() ? b.to(at::kDouble) : b);
          const at::Tensor actual = ops::linear(x, weight, b);
          ASSERT_EQ(actual.sizes(), expected.sizes());
          EXPECT_LT(test::relative_error(actual.to(at::kDouble), expected), 1e-5)
              << "rows " << rows << " in " << in << " out " << out;
        }
      }
  EXPECT_EQ(ops::linear(at::randn({2, 3}), at::randn({0, 3})).numel(), 0);
  EXPECT_TRUE(ops::linear(at::randn({2, 0}), at::randn({3, 0})).equal(at::zeros({2, 3})));
}

TEST(Linear, ARowComesOutTheSameInEveryBatch) {
  if (!ops::loops_run({})) GTEST_SKIP() << "a promise of the loops, which need AVX2";
  at::NoGradGuard no_grad;
  const at::Tensor x = at::randn({7, 50}), weight = at::randn({40, 50});
  const at::Tensor together = ops::linear(x, weight);
  for (int64_t row = 0; row < 7; ++row)
    EXPECT_TRUE(ops::linear(x[row], weight).equal(together[row])) << row;
  EXPECT_TRUE(ops::linear(x, weight.narrow(0, 3, 20)).equal(together.narrow(1, 3, 20)));
}

TEST(Linear, BFloat16RoundsOperandsAndGivesFloatGradients) {
  at::manual_seed(1);
  const std::vector<at::Tensor> inputs = {at::randn({5, 33}), at::randn({17, 33}), at::randn({17})};
  const OpUnderTest rounding = [](const std::vector<at::Tensor>& in) {
    return ops::linear(in[0], in[1], in[2], Precision::kBFloat16);
  };
  expect_close_to_float(linear_op, rounding, inputs);
  EXPECT_TRUE(
      value_and_gradients(rounding, inputs)[3].equal(value_and_gradients(linear_op, inputs)[3]))
      << "no product has the bias";
}

TEST(Linear, RefusesBadArguments) {
  const at::Tensor x = at::randn({2, 3});
  EXPECT_THROW(ops::linear(x, at::randn({5, 4})), UsageError);
  EXPECT_THROW(ops::linear(x, at::randn({5, 3}), at::randn({4})), UsageError);
  EXPECT_THROW(ops::linear(x, at::randn({5, 3}, real())), UsageError);
  EXPECT_THROW(ops::linear(x.to(at::kLong), at::randn({5, 3})), UsageError);
}

}  // namespace
}  // namespace tessera::ops
