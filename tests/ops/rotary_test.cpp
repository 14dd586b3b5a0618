#include "tessera/ops/rotary.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"
#include "tests/support/slow_reads.h"

namespace tessera::ops {
namespace {

/// All rows from one position on.
at::Tensor turned(const at::Tensor& x, int64_t first_position, double base = 10000) {
  return rotary(x, std::vector<int64_t>(x.size(0), first_position), base);
}

TEST(Rotary, HandExample) {
  // D = 4, base 100: pairs (0, 2) and (1, 3), angles p and p / 10 at position p = 3.
  const at::Tensor x = at::tensor({1.0, 0.0, 0.0, 2.0}, real()).view({1, 1, 1, 4});
  const at::Tensor expected =
      at::tensor({std::cos(3.0), -2 * std::sin(0.3), std::sin(3.0), 2 * std::cos(0.3)}, real());
  EXPECT_LT(test::relative_error(turned(x, 3, 100).view({4}), expected), 1e-12);
}

TEST(Rotary, ScoresDependOnDistanceOnly) {
  at::manual_seed(1);
  const at::Tensor q = at::randn({1, 1, 2, 8}, real()), k = at::randn({1, 1, 2, 8}, real());
  const auto score = [&](int64_t t, int64_t i) { return (turned(q, t) * turned(k, i)).sum(-1); };
  EXPECT_LT(test::relative_error(score(100, 90), score(10, 0)), 1e-10);
  EXPECT_TRUE(turned(q, 0).equal(q));
}

TEST(Rotary, ReadsASequenceInPieces) {
  const at::Tensor x = at::randn({2, 9, 3, 6});
  const at::Tensor whole = turned(x, 0);
  EXPECT_TRUE(turned(x.narrow(1, 4, 5), 4).equal(whole.narrow(1, 4, 5)));
  EXPECT_EQ(turned(x.narrow(1, 0, 0), 0).sizes(), x.narrow(1, 0, 0).sizes());
}

TEST(Rotary, EqualsTheLoop) {
  const at::Tensor x = at::arange(2 * 4 * 2 * 6, real()).remainder(7).view({2, 4, 2, 6});
  EXPECT_LT(test::relative_error(turned(x, 5), test::slow_rotary(x, {5, 5})), 1e-12);
  EXPECT_LT(test::relative_error(rotary(x, {3, 900}), test::slow_rotary(x, {3, 900})), 1e-12);
  EXPECT_LT(test::relative_error(rotary(x, {0, 7}, 50), test::slow_rotary(x, {0, 7}, 50)), 1e-12);
}

TEST(Rotary, GradientsAgreeWithCentralDifferences) {
  EXPECT_TRUE(test::gradients_agree(
      [](const std::vector<at::Tensor>& in) { return turned(in[0], 5); }, {leaf({2, 3, 2, 4})}));
}

TEST(Rotary, RefusesBadArguments) {
  EXPECT_THROW(turned(at::randn({1, 2, 3, 5}), 0), UsageError);
  EXPECT_THROW(turned(at::randn({2, 3, 4}), 0), UsageError);
  EXPECT_THROW(rotary(at::randn({2, 3, 2, 4}), std::vector<int64_t>{1, 2, 3}), UsageError);
}

}  // namespace
}  // namespace tessera::ops
