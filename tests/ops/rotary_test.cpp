#include "tessera/ops/rotary.h"

#include <cmath>

#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

TEST(Rotary, HandExample) {
  // D = 4, base 100: pairs (0, 2) and (1, 3), angles p and p / 10 at position p = 3.
  const at::Tensor x = at::tensor({1.0, 0.0, 0.0, 2.0}, real()).view({1, 1, 1, 4});
  const at::Tensor expected =
      at::tensor({std::cos(3.0), -2 * std::sin(0.3), std::sin(3.0), 2 * std::cos(0.3)}, real());
  EXPECT_LT(test::relative_error(rotary(x, 3, 100).view({4}), expected), 1e-12);
}

TEST(Rotary, ScoresDependOnDistanceOnly) {
  at::manual_seed(1);
  const at::Tensor q = at::randn({1, 1, 2, 8}, real()), k = at::randn({1, 1, 2, 8}, real());
  const auto score = [&](int64_t t, int64_t i) { return (rotary(q, t) * rotary(k, i)).sum(-1); };
  EXPECT_LT(test::relative_error(score(100, 90), score(10, 0)), 1e-10);
  EXPECT_TRUE(rotary(q, 0).equal(q));
}

TEST(Rotary, ReadsASequenceInPieces) {
  const at::Tensor x = at::randn({2, 9, 3, 6});
  const at::Tensor whole = rotary(x);
  EXPECT_TRUE(rotary(x.narrow(1, 4, 5), 4).equal(whole.narrow(1, 4, 5)));
  EXPECT_EQ(rotary(x.narrow(1, 0, 0)).sizes(), x.narrow(1, 0, 0).sizes());
}

TEST(Rotary, GradientsAgreeWithCentralDifferences) {
  EXPECT_TRUE(test::gradients_agree(
      [](const std::vector<at::Tensor>& in) { return rotary(in[0], 5); }, {leaf({2, 3, 2, 4})}));
}

TEST(Rotary, RefusesBadArguments) {
  EXPECT_THROW(rotary(at::randn({1, 2, 3, 5})), c10::ValueError);
  EXPECT_THROW(rotary(at::randn({2, 3, 4})), c10::ValueError);
}

}  // namespace
}  // namespace tessera::ops
