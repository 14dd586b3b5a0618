#include "tessera/ops/peek_average.h"

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

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

}  // namespace
}  // namespace tessera::ops
