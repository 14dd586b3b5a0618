#include "tessera/ops/key_value_extraction.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/simd/instruction_set.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

const OpUnderTest leaky_average_op = [](const std::vector<at::Tensor>& in) {
  return leaky_average(in[0], in[1], in.size() > 2 ? in[2] : at::Tensor());
};

at::Tensor gated_loop(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& decay,
                      const at::Tensor& initial) {
  at::Tensor y = at::zeros_like(x), state = initial.clone();
  for (int64_t t = 0; t < x.size(1); ++t) {
    state =
        gain.select(1, t).unsqueeze(-1) * x.select(1, t) + decay.select(1, t).unsqueeze(-1) * state;
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
    const at::Tensor expected =
        gated_loop(x, at::ones({2, T, 3}, real()), decay.expand({2, T, 3}), initial);
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

const OpUnderTest gated_leaky_average_op = [](const std::vector<at::Tensor>& in) {
  return gated_leaky_average(in[0], in[1], in[2], in.size() > 3 ? in[3] : at::Tensor());
};

TEST(GatedLeakyAverage, HandExample) {
  const at::Tensor x = at::tensor({1.0f, 2.0f, 4.0f}).view({1, 3, 1, 1});
  const at::Tensor gain = at::tensor({3.0f, 0.5f, 2.0f}).view({1, 3, 1});
  const at::Tensor decay = at::tensor({0.25f, 0.0f, 1.0f}).view({1, 3, 1});
  // 3 * 1 + 0.25 * 8, 0.5 * 2 + 0 * 5, 2 * 4 + 1 * 1
  const at::Tensor expected = at::tensor({5.0f, 1.0f, 9.0f}).view({1, 3, 1, 1});
  const at::Tensor initial = at::full({1, 1, 1}, 8.0f);
  EXPECT_TRUE(gated_leaky_average(x, gain, decay, initial).equal(expected));
  EXPECT_TRUE(gated_leaky_average_op({x.to(at::kDouble), gain.to(at::kDouble),
                                      decay.to(at::kDouble), initial.to(at::kDouble)})
                  .equal(expected.to(at::kDouble)));
}

TEST(GatedLeakyAverage, EqualsTheLoopExactlyOnIntegers) {
  at::manual_seed(1);
  for (int64_t T : {1, 2, 3, 7, 12}) {
    const at::Tensor x = at::randint(-8, 8, {2, T, 3, 5}, real());
    const at::Tensor gain = at::randint(-2, 3, {2, T, 3}, real());
    const at::Tensor decay = at::randint(0, 3, {2, T, 3}, real()) / 2;
    const at::Tensor initial = at::randint(-8, 8, {2, 3, 5}, real());
    EXPECT_TRUE(
        gated_leaky_average(x, gain, decay, initial).equal(gated_loop(x, gain, decay, initial)))
        << T;
  }
}

TEST(GatedLeakyAverage, GradientsAgreeWithCentralDifferences) {
  at::manual_seed(3);
  EXPECT_TRUE(test::gradients_agree(gated_leaky_average_op, {leaf({2, 5, 2, 3}), leaf({2, 5, 2}),
                                                             leaf({2, 5, 2}), leaf({2, 2, 3})}));
  EXPECT_TRUE(test::gradients_agree(gated_leaky_average_op,
                                    {leaf({1, 1, 2, 2}), leaf({1, 1, 2}), leaf({1, 1, 2})}));
}

TEST(GatedLeakyAverage, FloatAgreesWithDouble) {
  at::manual_seed(4);
  for (int64_t T : {0, 1, 2, 17, 129})
    for (int64_t D : {1, 5, 16, 67}) {
      const at::Tensor x = at::randn({3, T, 4, D}, real());
      const at::Tensor gain = at::rand({3, T, 4}, real()), decay = at::rand({3, T, 4}, real());
      expect_float_agrees_with_double(gated_leaky_average_op, {x, gain, decay});
      expect_float_agrees_with_double(gated_leaky_average_op,
                                      {x, gain, decay, at::randn({3, 4, D}, real())});
    }
}

TEST(GatedLeakyAverage, ReadsStridedViews) {
  at::manual_seed(5);
  const OpUnderTest sliced = [](const std::vector<at::Tensor>& in) {
    return gated_leaky_average(in[0].narrow(3, 2, 5), in[1].narrow(2, 0, 3), in[1].narrow(2, 3, 3));
  };
  expect_float_agrees_with_double(sliced,
                                  {at::randn({2, 9, 3, 8}, real()), at::rand({2, 9, 6}, real())});
}

TEST(GatedLeakyAverage, RefusesBadArguments) {
  const at::Tensor x = at::randn({2, 3, 4, 5}), gates = at::rand({2, 3, 4});
  EXPECT_THROW(gated_leaky_average(x[0], gates, gates), UsageError);
  EXPECT_THROW(gated_leaky_average(x, gates[0], gates), UsageError);
  EXPECT_THROW(gated_leaky_average(x, gates, at::rand({2, 3, 5})), UsageError);
  EXPECT_THROW(gated_leaky_average(x, gates, gates.to(at::kDouble)), UsageError);
  EXPECT_THROW(gated_leaky_average(x, gates, gates, at::randn({2, 4, 6})), UsageError);
}

const OpUnderTest peek_average_op = [](const std::vector<at::Tensor>& in) {
  return peek_average(in[0], in[1]);
};

TEST(PeekAverage, HandExample) {
  const at::Tensor x = at::tensor({4.0f, 8.0f, 16.0f}).view({1, 3, 1, 1});
  // 0.25 * 4 + 0.75 * 8, 0.25 * 8 + 0.75 * 16, 0.25 * 16 + 0.75 * 0
  const at::Tensor expected = at::tensor({7.0f, 14.0f, 4.0f}).view({1, 3, 1, 1});
  EXPECT_TRUE(peek_average(x, at::tensor({0.25f})).equal(expected));
  EXPECT_TRUE(
      peek_average(x.to(at::kDouble), at::tensor({0.25}, real())).equal(expected.to(at::kDouble)));
}

TEST(PeekAverage, GradientsAgreeWithCentralDifferences) {
  EXPECT_TRUE(test::gradients_agree(peek_average_op, {leaf({2, 4, 3, 2}), leaf({3})}));
  EXPECT_TRUE(test::gradients_agree(peek_average_op, {leaf({1, 1, 3, 2}), leaf({3})}));
}

TEST(PeekAverage, FloatAgreesWithDouble) {
  at::manual_seed(1);
  for (int64_t T : {0, 1, 2, 33})
    for (int64_t D : {1, 7, 16, 24})
      expect_float_agrees_with_double(peek_average_op,
                                      {at::randn({2, T, 3, D}, real()), at::randn({3}, real())});
}

TEST(PeekAverage, RefusesBadArguments) {
  const at::Tensor x = at::randn({2, 3, 4, 5});
  EXPECT_THROW(peek_average(x[0], at::rand({4})), UsageError);
  EXPECT_THROW(peek_average(x, at::rand({5})), UsageError);
  EXPECT_THROW(peek_average(x, at::rand({4}, real())), UsageError);
}

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

TEST(ScaledUnitNorm, LengthsWhoseSquareIsBeyondAFloatCount) {
  // Gated keys grow by e^(W_g x) in a step.
  if (simd::instruction_set() < simd::InstructionSet::kAvx2)
    GTEST_SKIP() << "only the loops for floats bear such lengths";
  at::manual_seed(2);
  for (const double length : {1e18, 1e20, 1e30})
    expect_float_agrees_with_double(
        scaled_unit_norm_op(1e-10),
        {at::randn({2, 3, 2, 24}, real()) * length, at::randn({2}, real())});
  const at::Tensor x = at::full({1, 3}, 1e30f).requires_grad_(true);
  (ops::scaled_unit_norm(x, at::ones({1}), 1e-10).sum() * 1e10).backward();  // x . dy is 3e40
  EXPECT_NEAR(x.grad().abs().max().item<double>(), 0, 1e-25);
}

TEST(ScaledUnitNorm, FloatAgreesWithDouble) {
  at::manual_seed(1);
  for (int64_t T : {0, 1, 5})
    for (int64_t D : {0, 2, 7, 16, 24, 130}) {
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

KeyParameters keys_of(const std::vector<at::Tensor>& in) {
  return {{in[1], in[2]}, in[3], /*leak_scale=*/2, {in[4], 3, 1.5}, /*epsilon=*/1e-3};
}
ValueParameters values_of(const std::vector<at::Tensor>& in) {
  return {{in[1], {}}, in[2], {in[3], 3}, /*epsilon=*/1e-3};
}

at::Tensor keys_op(const std::vector<at::Tensor>& in) {
  const Keys keys = extract_keys(in[0], keys_of(in), in[5], Precision::kFloat32);
  return at::cat({keys.keys, keys.leaky_average.unsqueeze(1)}, 1);
}
at::Tensor values_op(const std::vector<at::Tensor>& in) {
  return complete_values(raw_values(in[0], values_of(in), Precision::kFloat32), values_of(in));
}

TEST(HeadFactor, IsBoundedBeforeTheExponential) {
  const at::Tensor x = at::tensor({0.0, 0.5, 4.0}, real());
  const HeadFactor factor = {x, 2, 3};
  const at::Tensor expected = at::tensor({1.0, std::exp(1.0), std::exp(3.0)}, real());
  EXPECT_LT(test::relative_error(factor.value(), expected), 1e-15);
  EXPECT_NEAR((HeadFactor{x, 2}.value()[2].item<double>()), std::exp(8.0), 1e-9);
}

// One head of two channels; W_φ is the identity, λ = exp(-|ln 2|) = 1/2, the scale 10.
TEST(ExtractKeys, HandExample) {
  const KeyParameters parameters = {{at::eye(2), {}},
                                    at::full({1}, -std::log(2.0)),
                                    /*leak_scale=*/1,
                                    {at::full({1}, std::log(10.0))},
                                    /*epsilon=*/0};
  const at::Tensor x = at::tensor({3.0f, 4.0f, -1.5f, 3.0f}).view({1, 2, 2});
  const Keys keys = extract_keys(x, parameters, {}, Precision::kFloat32);
  // k̄ = (3, 4), then (-1.5, 3) + (1.5, 2) = (0, 5)
  const at::Tensor expected = at::tensor({6.0f, 8.0f, 0.0f, 10.0f}).view({1, 2, 1, 2});
  EXPECT_LT(test::relative_error(keys.keys, expected), 1e-6);
  EXPECT_LT(test::relative_error(keys.leaky_average, at::tensor({0.0f, 5.0f}).view({1, 1, 2})),
            1e-6);
  // From k̄ = (2, 0): (3, 4) + (1, 0) = (4, 4)
  const Keys later = extract_keys(x.narrow(1, 0, 1), parameters,
                                  at::tensor({2.0f, 0.0f}).view({1, 1, 2}), Precision::kFloat32);
  EXPECT_LT(test::relative_error(later.leaky_average, at::full({1, 1, 2}, 4.0f)), 1e-6);
}

// W_ψ is the identity, mix 1/4, the scale 10: 1/4 (3, 0) + 3/4 (0, 4) / 5 … at the end nothing
// follows.
TEST(CompleteValues, HandExample) {
  const ValueParameters parameters = {
      {at::eye(2), {}}, at::full({1}, 0.25), {at::full({1}, std::log(10.0))}, /*epsilon=*/0};
  const at::Tensor x = at::tensor({12.0f, 0.0f, 0.0f, 16.0f / 3}).view({1, 2, 2});
  const at::Tensor raw = raw_values(x, parameters, Precision::kFloat32);
  EXPECT_TRUE(raw.equal(x.view({1, 2, 1, 2})));
  // 1/4 (12, 0) + 3/4 (0, 16/3) = (3, 4)
  const at::Tensor expected = at::tensor({6.0f, 8.0f, 0.0f, 10.0f}).view({1, 2, 1, 2});
  EXPECT_LT(test::relative_error(complete_values(raw, parameters), expected), 1e-6);
}

TEST(ExtractKeys, GradientsAgreeWithCentralDifferences) {
  at::manual_seed(1);
  for (int64_t T : {1, 3})
    EXPECT_TRUE(test::gradients_agree(keys_op, {leaf({2, T, 4}), leaf({4, 4}), leaf({4}), leaf({2}),
                                                leaf({2}), leaf({2, 2, 2})}));
}

TEST(CompleteValues, GradientsAgreeWithCentralDifferences) {
  at::manual_seed(2);
  for (int64_t T : {1, 3})
    EXPECT_TRUE(
        test::gradients_agree(values_op, {leaf({2, T, 4}), leaf({4, 4}), leaf({2}), leaf({2})}));
}

TEST(KeysAndValues, InFloatAgreeWithDouble) {
  at::manual_seed(3);
  const at::Tensor map = at::randn({42, 42}, real()) * 0.2;
  for (int64_t T : {1, 5})
    expect_float_agrees_with_double(
        keys_op,
        {at::randn({2, T, 42}, real()), map, at::randn({42}, real()), at::randn({3}, real()) * 0.1,
         at::randn({3}, real()), at::randn({2, 3, 14}, real())});
  // Not one step alone: there the norm cancels the mix, whose gradient is 0 but for rounding.
  expect_float_agrees_with_double(values_op, {at::randn({2, 5, 42}, real()), map,
                                              at::rand({3}, real()), at::randn({3}, real()) * 0.1});
  const ValueParameters parameters =
      values_of({{}, at::randn({4, 4}), at::ones({2}), at::ones({2})});
  EXPECT_EQ(
      complete_values(raw_values(at::randn({2, 0, 4}), parameters, Precision::kFloat32), parameters)
          .sizes(),
      at::IntArrayRef({2, 0, 2, 2}));
}

TEST(KeysAndValues, RefuseBadArguments) {
  const std::vector<at::Tensor> keys = {at::randn({2, 3, 4}), at::randn({4, 4}),
                                        at::randn({4}),       at::randn({2}),
                                        at::randn({2}),       at::randn({2, 2, 2})};
  EXPECT_NO_THROW(keys_op(keys));
  for (const auto& [place, bad] :
       std::vector<std::pair<size_t, at::Tensor>>{{0, at::randn({2, 3, 5})},
                                                  {0, at::randn({3, 4})},
                                                  {1, at::randn({4, 5})},
                                                  {2, at::randn({5})},
                                                  {3, at::randn({3})},
                                                  {4, at::randn({3})},
                                                  {5, at::randn({2, 4})}}) {
    std::vector<at::Tensor> in = keys;
    in[place] = bad;
    EXPECT_THROW(keys_op(in), UsageError) << place;
  }
  EXPECT_THROW(values_op({at::randn({2, 3, 4}), at::randn({4, 4}), at::randn({3}), at::randn({3})}),
               UsageError);
}

}  // namespace
}  // namespace tessera::ops
