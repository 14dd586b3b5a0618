#include "tessera/ops/leaky_average.h"

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

const OpUnderTest leaky_average_op = [](const std::vector<at::Tensor>& in) {
  return leaky_average(in[0], in[1], in.size() > 2 ? in[2] : at::Tensor());
};

at::Tensor loop(const at::Tensor& x, const at::Tensor& decay, const at::Tensor& initial) {
  at::Tensor y = at::zeros_like(x), state = initial.clone();
  for (int64_t t = 0; t < x.size(1); ++t) {
    state = x.select(1, t) + decay.unsqueeze(1) * state;
    y.select(1, t).copy_(state);
  }
  return y;
}

TEST(LeakyAverage, HandExample) {
  const at::Tensor x = at::tensor({1.0f, 2.0f, 4.0f}).view({1, 3, 1, 1});
  const at::Tensor decay = at::tensor({0.5f}), initial = at::full({1, 1, 1}, 8.0f);
  // 1 + 0.5 * 8, 2 + 0.5 * 5, 4 + 0.5 * 4.5
  const at::Tensor expected = at::tensor({5.0f, 4.5f, 6.25f}).view({1, 3, 1, 1});
  EXPECT_TRUE(leaky_average(x, decay, initial).equal(expected));
  EXPECT_TRUE(leaky_average(x.to(at::kDouble), decay.to(at::kDouble), initial.to(at::kDouble))
                  .equal(expected.to(at::kDouble)));
}

TEST(LeakyAverage, EqualsTheLoopExactlyOnIntegers) {
  const at::Tensor decay = at::tensor({0.0, 0.5, 0.25}, real());
  for (int64_t T : {1, 2, 3, 7, 12}) {
    const at::Tensor x = at::randint(-8, 8, {2, T, 3, 5}, real());
    const at::Tensor initial = at::randint(-8, 8, {2, 3, 5}, real());
    const at::Tensor expected = loop(x, decay, initial);
    EXPECT_TRUE(leaky_average(x, decay, initial).equal(expected)) << T;
  }
}

TEST(LeakyAverage, ReadsASequenceInPieces) {
  const at::Tensor x = at::randn({2, 11, 3, 4}), decay = at::tensor({0.1f, 0.6f, 0.9f});
  const at::Tensor whole = leaky_average(x, decay);
  const at::Tensor first = leaky_average(x.narrow(1, 0, 5), decay);
  const at::Tensor second = leaky_average(x.narrow(1, 5, 6), decay, first.select(1, 4));
  EXPECT_LT(test::relative_error(at::cat({first, second}, 1), whole), 1e-6);
}

TEST(LeakyAverage, GradientsAgreeWithCentralDifferences) {
  const at::Tensor decay = at::tensor({0.2, 0.8}, real()).requires_grad_(true);
  EXPECT_TRUE(
      test::gradients_agree(leaky_average_op, {leaf({2, 5, 2, 3}), decay, leaf({2, 2, 3})}));
  EXPECT_TRUE(test::gradients_agree(leaky_average_op, {leaf({1, 1, 2, 2}), decay}));
}

TEST(LeakyAverage, FloatAgreesWithDouble) {
  at::manual_seed(1);
  for (int64_t T : {0, 1, 2, 17, 129})
    for (int64_t D : {1, 5, 16, 24, 67}) {
      const at::Tensor x = at::randn({3, T, 4, D}, real());
      const at::Tensor decay = at::tensor({0.0, 0.3, 0.6, 0.99}, real());
      // The decay's gradient is a sum of many terms of either sign.
      expect_float_agrees_with_double(leaky_average_op, {x, decay}, 3e-5);
      expect_float_agrees_with_double(leaky_average_op, {x, decay, at::randn({3, 4, D}, real())},
                                      3e-5);
    }
  expect_float_agrees_with_double(leaky_average_op,
                                  {at::randn({0, 4, 1, 3}, real()), at::rand({1}, real())});
}

TEST(LeakyAverage, ReadsStridedViews) {
  const at::Tensor whole = at::randn({2, 9, 3, 8}, real()), decay = at::rand({3}, real());
  const OpUnderTest sliced = [](const std::vector<at::Tensor>& in) {
    return leaky_average(in[0].narrow(3, 2, 5), in[1]) +
           leaky_average(in[0].transpose(0, 1).narrow(3, 2, 5), in[1]).transpose(0, 1);
  };
  expect_float_agrees_with_double(sliced, {whole, decay});
}

TEST(LeakyAverage, RefusesBadArguments) {
  const at::Tensor x = at::randn({2, 3, 4, 5}), decay = at::rand({4});
  EXPECT_THROW(leaky_average(x[0], decay), UsageError);
  EXPECT_THROW(leaky_average(x, at::rand({3})), UsageError);
  EXPECT_THROW(leaky_average(x, decay.to(at::kDouble)), UsageError);
  EXPECT_THROW(leaky_average(x, decay, at::randn({2, 4, 6})), UsageError);
  EXPECT_THROW(leaky_average(x.to(at::kLong), decay), UsageError);
}

}  // namespace
}  // namespace tessera::ops
