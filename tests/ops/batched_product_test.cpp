#include "tessera/ops/batched_product.h"

#include <torch/csrc/autograd/forward_grad.h>

#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

const OpUnderTest product_op = [](const std::vector<at::Tensor>& in) {
  return batched_product(in[0], in[1], in.size() > 2 ? in[2] : at::Tensor());
};

TEST(BatchedProduct, HandExample) {
  const at::Tensor a = at::tensor({1.0f, 2.0f, 3.0f, 4.0f}).view({2, 1, 2});
  const at::Tensor b = at::tensor({5.0f, 6.0f, 7.0f, 8.0f}).view({2, 2, 1});
  // 1 * 5 + 2 * 6 and 3 * 7 + 4 * 8
  EXPECT_TRUE(batched_product(a, b).equal(at::tensor({17.0f, 53.0f}).view({2, 1, 1})));
  EXPECT_TRUE(
      batched_product(a, b, at::ones({2, 1, 1})).equal(at::tensor({18.0f, 54.0f}).view({2, 1, 1})));
}

/// A batch [B, rows, columns] of integers in every form that a caller may pass.
std::vector<at::Tensor> forms(int64_t B, int64_t rows, int64_t columns) {
  const auto integers = [](at::IntArrayRef sizes) { return at::randint(-4, 4, sizes, at::kFloat); };
  return {integers({B, rows, columns}),
          integers({B, columns, rows}).transpose(1, 2),
          integers({B, rows, columns + 3}).narrow(2, 1, columns),
          integers({B, columns + 2, rows}).narrow(1, 2, columns).transpose(1, 2),
          integers({rows, B, columns}).transpose(0, 1),
          integers({B, rows, 2 * columns}).slice(2, 0, 2 * columns, 2),
          integers({1, rows, columns}).expand({B, rows, columns}),
          integers({B, rows, 1}).expand({B, rows, columns})};
}

TEST(BatchedProduct, EqualsTheLoopExactlyOnIntegersOfEveryForm) {
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 1, 1}, {3, 4, 5}, {2, 6, 1}, {1, 3, 4}})
    for (const at::Tensor& a : forms(3, m, k))
      for (const at::Tensor& b : forms(3, k, n)) {
        const at::Tensor product = batched_product(a, b), sum = at::ones({3, m, n});
        for (int64_t i = 0; i < 3; ++i) ASSERT_TRUE(product[i].equal(at::mm(a[i], b[i])));
        ASSERT_TRUE(batched_product(a, b, sum).equal(product + sum));
        ASSERT_TRUE(sum.equal(at::ones({3, m, n})));
        const at::Tensor written = at::empty({3, m, n});
        write_batched_product(a, b, written);
        ASSERT_TRUE(written.equal(product));
      }
}

TEST(BatchedProduct, GradientsAgreeWithCentralDifferences) {
  EXPECT_TRUE(test::gradients_agree(product_op, {leaf({2, 3, 2}), leaf({2, 2, 4})}));
  EXPECT_TRUE(
      test::gradients_agree(product_op, {leaf({2, 3, 2}), leaf({2, 2, 4}), leaf({2, 3, 4})}));
}

TEST(BatchedProduct, TheSumAloneMayHaveATangent) {
  using torch::autograd::ForwardADLevel;
  const at::Tensor a = at::randn({2, 3, 4}), b = at::randn({2, 4, 5}), along = at::randn({2, 3, 5});
  const uint64_t level = ForwardADLevel::get_next_idx();
  const at::Tensor sum = at::_make_dual(at::randn({2, 3, 5}), along, level);
  EXPECT_TRUE(batched_product(a, b, sum)._fw_grad(level).equal(along));
  ForwardADLevel::release_idx(level);
}

TEST(BatchedProduct, FloatAgreesWithDouble) {
  at::manual_seed(4);
  for (const auto& [m, k, n] :
       {std::array<int64_t, 3>{5, 7, 3}, {8, 96, 1}, {1, 8, 9}, {40, 8, 33}}) {
    const at::Tensor a = at::randn({4, m, k}, real()), b = at::randn({4, k, n}, real());
    expect_float_agrees_with_double(product_op, {a, b});
    expect_float_agrees_with_double(product_op, {a, b, at::randn({4, m, n}, real())});
  }
  expect_float_agrees_with_double(product_op, {leaf({0, 2, 3}), leaf({0, 3, 4})});
  expect_float_agrees_with_double(product_op, {leaf({2, 2, 0}), leaf({2, 0, 4}), leaf({2, 2, 4})});
}

TEST(BatchedProduct, RefusesBadArguments) {
  const at::Tensor a = at::randn({2, 3, 4}), b = at::randn({2, 4, 5});
  EXPECT_THROW(batched_product(a[0], b), UsageError);
  EXPECT_THROW(batched_product(a, b.narrow(1, 0, 3)), UsageError);
  EXPECT_THROW(batched_product(a, b.narrow(0, 0, 1)), UsageError);
  EXPECT_THROW(batched_product(a, b.to(at::kDouble)), UsageError);
  EXPECT_THROW(batched_product(a, b, at::randn({2, 3, 4})), UsageError);
}

}  // namespace
}  // namespace tessera::ops
