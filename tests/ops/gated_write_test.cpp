#include "tessera/ops/self_attentive_memory.h"

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

OpUnderTest gated_write_op(GateForm form, Precision precision = Precision::kFloat32) {
  return [=](const std::vector<at::Tensor>& in) {
    return gated_write(in[0], in[1], in[2], in[3], in[4], form, precision);
  };
}

std::vector<at::Tensor> inputs(int64_t B, int64_t D) {
  return {leaf({B, D, D}), leaf({B, D}), leaf({B, D}), leaf({2 * D, D}), leaf({B, 2 * D})};
}

TEST(GatedWrite, HandExample) {
  const auto of = [](double value) { return at::full({1, 1}, value, real()); };
  const at::Tensor memory = at::full({1, 1, 1}, 2.0, real());
  const at::Tensor weight = at::tensor({1.0, 0.0}, real()).view({2, 1});
  const at::Tensor input = at::tensor({0.5, 1.0}, real()).view({1, 2});
  const double squashed = std::tanh(2.0);
  const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  const double linear = 1.0 * 2.0 + (squashed + 0.5) * (3.0 * 0.25);
  const double sigmoid = logistic(1.0) * 2.0 + logistic(squashed + 0.5) * std::tanh(3.0 * 0.25);
  const auto written = [&](GateForm form) {
    return gated_write(memory, of(3), of(0.25), weight, input, form).item<double>();
  };
  EXPECT_NEAR(written(GateForm::kLinear), linear, 1e-14);
  EXPECT_NEAR(written(GateForm::kSigmoid), sigmoid, 1e-14);
}

TEST(GatedWrite, OpenLinearGatesAddExactly) {
  const at::Tensor memory = at::randint(-9, 9, {2, 3, 3}, real());
  const at::Tensor left = at::randint(-9, 9, {2, 3}, real());
  const at::Tensor right = at::randint(-9, 9, {2, 3}, real());
  const at::Tensor written = gated_write(memory, left, right, at::zeros({6, 3}, real()),
                                         at::ones({2, 6}, real()), GateForm::kLinear);
  for (int64_t b = 0; b < 2; ++b)
    EXPECT_TRUE(written[b].equal(memory[b] + at::outer(left[b], right[b])));
}

TEST(GatedWrite, GradientsAgreeWithCentralDifferences) {
  for (GateForm form : {GateForm::kSigmoid, GateForm::kLinear}) {
    EXPECT_TRUE(test::gradients_agree(gated_write_op(form), inputs(2, 3)));
    EXPECT_TRUE(test::gradients_agree(gated_write_op(form), inputs(1, 1)));
  }
}

TEST(GatedWrite, FloatAgreesWithDouble) {
  at::manual_seed(2);
  for (int64_t D : {1, 5, 16, 48})
    for (int64_t B : {1, 3})
      expect_float_agrees_with_double(gated_write_op(GateForm::kSigmoid), inputs(B, D), 2e-5);
  expect_float_agrees_with_double(gated_write_op(GateForm::kSigmoid), inputs(0, 4));
  expect_float_agrees_with_double(gated_write_op(GateForm::kLinear), inputs(2, 16), 2e-5);
}

TEST(GatedWrite, BFloat16IsCloseToFloat) {
  at::manual_seed(4);
  std::vector<at::Tensor> floats;
  for (const at::Tensor& input : inputs(3, 32)) floats.push_back(input.to(at::kFloat));
  for (GateForm form : {GateForm::kSigmoid, GateForm::kLinear})
    expect_close_to_float(gated_write_op(form), gated_write_op(form, Precision::kBFloat16), floats);
}

TEST(GatedWrite, RefusesBadArguments) {
  const auto good = inputs(2, 3);
  for (size_t bad = 0; bad < good.size(); ++bad) {
    auto in = good;
    in[bad] = in[bad].narrow(in[bad].dim() - 1, 0, 2);
    EXPECT_THROW(gated_write_op(GateForm::kSigmoid)(in), UsageError) << bad;
    in[bad] = good[bad].to(at::kFloat);
    EXPECT_THROW(gated_write_op(GateForm::kLinear)(in), UsageError) << bad;
  }
}

}  // namespace
}  // namespace tessera::ops
