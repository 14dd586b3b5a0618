#include "tessera/ops/key_value_extraction.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

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
