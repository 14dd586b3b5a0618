#include "tessera/ops/outer_product_attention.h"

#include <fstream>

#include "bench/support/peak_memory.h"
#include "tessera/base/error.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

const OpUnderTest factors_op = [](const std::vector<at::Tensor>& in) {
  return attention_factors(in[0], in[1]);
};
const OpUnderTest whole_op = [](const std::vector<at::Tensor>& in) {
  return outer_product_attention(in[0], in[1], in[2]);
};

/// The definition, element by element, with any function of the product.
at::Tensor loop(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                const std::function<double(double)>& f) {
  const int64_t B = q.size(0), Nq = q.size(1), D = q.size(2), Nk = k.size(1), E = v.size(2);
  const at::Tensor result = at::zeros({B, Nq, D, E}, q.options());
  const auto a = q.accessor<double, 3>(), b = k.accessor<double, 3>(), c = v.accessor<double, 3>();
  auto sum = result.accessor<double, 4>();
  for (int64_t n = 0; n < B; ++n)
    for (int64_t s = 0; s < Nq; ++s)
      for (int64_t j = 0; j < Nk; ++j)
        for (int64_t d = 0; d < D; ++d)
          for (int64_t e = 0; e < E; ++e)
            sum[n][s][d][e] += f(a[n][s][d] * b[n][j][d]) * c[n][j][e];
  return result;
}

TEST(OuterProductAttention, HandExample) {
  const at::Tensor q = at::tensor({1.0, 2.0}, real()).view({1, 1, 2});
  const at::Tensor k = at::tensor({0.0, 0.5, 100.0, 0.0}, real()).view({1, 2, 2});
  const at::Tensor v = at::tensor({3.0, 1.0, 2.0, 4.0}, real()).view({1, 2, 2});
  // tanh(0, 1) ⊗ (3, 1) + tanh(100, 0) ⊗ (2, 4), and tanh(1) = 0.7615941559557649
  const at::Tensor expected =
      at::tensor({2.0, 4.0, 3 * 0.7615941559557649, 0.7615941559557649}, real()).view({1, 1, 2, 2});
  EXPECT_LT(test::relative_error(outer_product_attention(q, k, v), expected), 1e-15);
}

TEST(OuterProductAttention, EqualsTheLoop) {
  for (int64_t Nq : {1, 3})
    for (int64_t Nk : {1, 2, 5}) {
      const at::Tensor q = at::randn({2, Nq, 4}, real()), k = at::randn({2, Nk, 4}, real());
      const at::Tensor v = at::randn({2, Nk, 6}, real());
      const at::Tensor expected = loop(q, k, v, [](double x) { return std::tanh(x); });
      EXPECT_LT(test::relative_error(outer_product_attention(q, k, v), expected), 1e-14);
    }
}

TEST(OuterProductAttention, SumsOuterProductsExactlyOnIntegers) {
  const at::Tensor q = at::randint(-4, 4, {2, 3, 4}, real());
  const at::Tensor k = at::randint(-4, 4, {2, 5, 4}, real());
  const at::Tensor v = at::randint(-4, 4, {2, 5, 6}, real());
  const at::Tensor factors = q.unsqueeze(1) * k.unsqueeze(2);
  EXPECT_TRUE(associate(factors, v).equal(loop(q, k, v, [](double x) { return x; })));
}

TEST(OuterProductAttention, GradientsAgreeWithCentralDifferences) {
  EXPECT_TRUE(test::gradients_agree(whole_op, {leaf({2, 2, 3}), leaf({2, 4, 3}), leaf({2, 4, 2})}));
  EXPECT_TRUE(test::gradients_agree(whole_op, {leaf({1, 1, 1}), leaf({1, 1, 1}), leaf({1, 1, 1})}));
}

TEST(OuterProductAttention, FloatAgreesWithDouble) {
  at::manual_seed(1);
  for (int64_t D : {1, 7, 16, 33, 96})
    for (int64_t Nk : {0, 1, 5}) {
      const at::Tensor q = 3 * at::randn({3, 4, D}, real()), k = at::randn({3, Nk, D}, real());
      expect_float_agrees_with_double(factors_op, {q, k});
      expect_float_agrees_with_double(whole_op, {q, k, at::randn({3, Nk, 5}, real())});
    }
  expect_float_agrees_with_double(factors_op,
                                  {at::randn({0, 2, 3}, real()), at::randn({0, 2, 3}, real())});
}

TEST(OuterProductAttention, TheFusedTangentIsExactToSingleRounding) {
  const at::Tensor x = at::linspace(-12, 12, 20001, at::kFloat).view({1, 1, -1});
  const at::Tensor y = attention_factors(x, at::ones_like(x)).flatten();
  const at::Tensor expected = x.flatten().to(at::kDouble).tanh();
  EXPECT_LT((y.to(at::kDouble) - expected).abs().max().item<double>(), 3e-7);
  const at::Tensor odd = at::tensor({NAN, INFINITY, -INFINITY, 0.0f}).view({1, 1, 4});
  const at::Tensor ends = attention_factors(odd, at::ones_like(odd)).flatten();
  EXPECT_TRUE(std::isnan(ends[0].item<float>()));
  EXPECT_NEAR(ends[1].item<float>(), 1, 3e-7);
  EXPECT_NEAR(ends[2].item<float>(), -1, 3e-7);
  EXPECT_EQ(ends[3].item<float>(), 0);
}

// 64 queries, keys and values of width 96: their products would take 151 MB, the result 2.4 MB.
TEST(OuterProductAttention, NeverFormsAllOuterProducts) {
  if (!std::ofstream("/proc/self/clear_refs")) GTEST_SKIP() << "peak memory is not measurable here";
  std::vector<at::Tensor> leaves;
  for (int i = 0; i < 3; ++i) leaves.push_back(at::randn({1, 64, 96}).requires_grad_(true));
  const auto run = [&] { whole_op(leaves).sum().backward(); };
  run();
  const bench::PeakMemory memory;
  run();
  EXPECT_LT(memory.mebibytes(), 64);
}

TEST(OuterProductAttention, RefusesBadArguments) {
  const at::Tensor q = at::randn({2, 3, 4}), k = at::randn({2, 5, 4}), v = at::randn({2, 5, 6});
  EXPECT_THROW(outer_product_attention(q[0], k, v), UsageError);
  EXPECT_THROW(outer_product_attention(q, k.narrow(2, 0, 3), v), UsageError);
  EXPECT_THROW(outer_product_attention(q, k.narrow(0, 0, 1), v), UsageError);
  EXPECT_THROW(outer_product_attention(q, k, v.narrow(1, 0, 4)), UsageError);
  EXPECT_THROW(outer_product_attention(q, k, v.to(at::kDouble)), UsageError);
  EXPECT_THROW(outer_product_attention(q.to(at::kLong), k, v), UsageError);
}

// Le et al. 2020, propositions 1 and 3 (and 2, the rearrangement of sums that they rest on): with
// S(x) = a x + b, F(x) = a x + b_d where the b_d add up to b, and a contraction with ones, the
// outer product attention gives the dot product attention.
TEST(OuterProductAttention, ContainsDotProductAttention) {
  const double a = 0.7, b = -1.3;
  const at::Tensor q = at::randn({1, 1, 5}, real()), k = at::randn({1, 4, 5}, real());
  const at::Tensor v = at::randn({1, 4, 3}, real());
  const at::Tensor shares = at::rand({5}, real());
  const at::Tensor factors =
      a * q.unsqueeze(1) * k.unsqueeze(2) + b * shares / shares.sum();  // [1, 4, 1, 5]
  const at::Tensor contracted = associate(factors, v).sum(2);           // [1, 1, 3]
  const at::Tensor dot_product = at::matmul(a * at::matmul(q, k.transpose(1, 2)) + b, v);
  EXPECT_LT(test::relative_error(contracted, dot_product), 1e-14);
}

// Proposition 4: with one key-value pair a linear map of the result is a bilinear form of
// f = tanh(q ⊙ k) and v.
TEST(OuterProductAttention, WithOnePairALinearMapOfItIsBilinear) {
  const at::Tensor q = at::randn({1, 1, 4}, real()), k = at::randn({1, 1, 4}, real());
  const at::Tensor v = at::randn({1, 1, 3}, real()), map = at::randn({6, 4, 3}, real());
  const at::Tensor result = at::matmul(map.flatten(1), outer_product_attention(q, k, v).flatten());
  const at::Tensor bilinear =
      at::einsum("sjt,j,t->s", {map, (q * k).tanh().flatten(), v.flatten()});
  EXPECT_LT(test::relative_error(result, bilinear), 1e-14);
}

// Proposition 6: with linearly independent keys, no zero in the query and linear F every stored
// value is retrieved by a contraction; its vectors are dual to the x_i = a ⊙ q ⊙ k_i.
TEST(OuterProductAttention, RetrievesEveryStoredValuePerfectly) {
  const int64_t D = 8, pairs = 5;
  const at::Tensor q = at::rand({1, 1, D}, real()) + 0.5, k = at::randn({1, pairs, D}, real());
  const at::Tensor a = at::rand({D}, real()) + 0.5, v = at::randn({1, pairs, 3}, real());
  const at::Tensor x = a * q * k;                                     // [1, pairs, D]
  const at::Tensor memory = associate(x.unsqueeze(2), v).squeeze(1);  // [1, D, 3]
  const at::Tensor contractions = at::linalg_pinv(x[0]).t();          // [pairs, D]
  EXPECT_LT(test::relative_error(at::matmul(contractions, memory[0]), v[0]), 1e-10);
  // A query with a zero loses a dimension: five keys in four dimensions cannot be told apart.
  at::Tensor blind = q.clone();
  blind.narrow(2, 0, 4).zero_();
  const at::Tensor lost = a * blind * k;
  const at::Tensor damaged = associate(lost.unsqueeze(2), v).squeeze(1);
  const at::Tensor best = at::matmul(at::linalg_pinv(lost[0]).t(), damaged[0]);
  EXPECT_GT(test::relative_error(best, v[0]), 1e-3);
}

}  // namespace
}  // namespace tessera::ops
