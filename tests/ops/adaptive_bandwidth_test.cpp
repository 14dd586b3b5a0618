#include "tessera/ops/key_value_extraction.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

AdaptiveBandwidth bandwidth_of(const at::Tensor& offset, const at::Tensor& factor,
                               const at::Tensor& exponent) {
  return {{offset, 1, 10}, {factor, 1, 10}, exponent};
}

TEST(AdaptiveBandwidth, HandExample) {
  const at::Tensor offset = at::tensor({0.0, std::log(3.0)}, real());
  const at::Tensor factor = at::tensor({std::log(2.0), 0.0}, real());
  const at::Tensor exponent = at::tensor({0.5, -2.0}, real());  // |-2| is cut at 1
  const at::Tensor pairs = at::tensor({0.0, 1.0, 4.0, 9.0}, real());
  // 2 sqrt(n) + 1 and n + 3; no pair counts as one.
  const at::Tensor expected =
      at::tensor({3.0, 4.0, 3.0, 4.0, 5.0, 7.0, 7.0, 12.0}, real()).view({4, 2});
  EXPECT_LT(test::relative_error(adaptive_bandwidth(pairs, bandwidth_of(offset, factor, exponent)),
                                 expected),
            1e-12);
}

TEST(AdaptiveBandwidth, ItsExponentialsAreBounded) {
  const at::Tensor large = at::full({1}, 12.0, real());
  const at::Tensor pairs = at::full({1}, 8.0, real());
  EXPECT_NEAR(adaptive_bandwidth(pairs, bandwidth_of(large, large, large)).item<double>() /
                  (9 * std::exp(10.0)),
              1, 1e-12);
}

TEST(AdaptiveBandwidth, GradientsAgreeWithCentralDifferences) {
  const at::Tensor pairs = at::arange(6, real()).view({2, 3});
  const at::Tensor exponent = at::tensor({0.3, -0.6}, real()).requires_grad_(true);
  EXPECT_TRUE(test::gradients_agree(
      [&](const std::vector<at::Tensor>& in) {
        return adaptive_bandwidth(pairs, bandwidth_of(in[0], in[1], in[2]));
      },
      {leaf({2}), leaf({2}), exponent}));
}

TEST(AdaptiveBandwidth, OfNoStepsHasNone) {
  const at::Tensor one = at::ones({2}, real());
  EXPECT_EQ(adaptive_bandwidth(at::zeros({0}, real()), bandwidth_of(one, one, one)).sizes(),
            (std::vector<int64_t>{0, 2}));
}

TEST(AdaptiveBandwidth, RefusesBadArguments) {
  const at::Tensor one = at::ones({2}, real()), other = at::ones({3}, real());
  const at::Tensor pairs = at::ones({4}, real());
  const auto refuses = [&](const at::Tensor& n, const AdaptiveBandwidth& parameters) {
    EXPECT_THROW(adaptive_bandwidth(n, parameters), UsageError);
  };
  refuses(at::ones({4}, at::kLong), bandwidth_of(one, one, one));
  refuses(pairs, bandwidth_of(other, one, one));
  refuses(pairs, bandwidth_of(one, other, one));
  refuses(pairs, bandwidth_of(one, one, one[0]));
  refuses(pairs, bandwidth_of(one.to(at::kFloat), one, one));
}

}  // namespace
}  // namespace tessera::ops
