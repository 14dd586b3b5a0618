#include "tessera/ops/self_attentive_memory.h"

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

constexpr ReadSide kSides[] = {ReadSide::kKeys, ReadSide::kValues};

/// Factors [B, Nk, Nq, D], values [B, Nk, E].
std::vector<at::Tensor> factored(int64_t B, int64_t Nk, int64_t Nq, int64_t D, int64_t E) {
  return {leaf({B, Nk, Nq, D}), leaf({B, Nk, E})};
}

std::vector<at::Tensor> with(std::vector<at::Tensor> inputs, const at::Tensor& more) {
  inputs.push_back(more);
  return inputs;
}

const OpUnderTest distil_op = [](const std::vector<at::Tensor>& in) {
  return distil({in[0], in[1]}, in[2]);
};
const OpUnderTest transfer_op = [](const std::vector<at::Tensor>& in) {
  const at::Tensor factors = transfer_factors({in[0], in[1]}, in[2]);
  return at::bmm(in[1].transpose(1, 2), factors);
};
OpUnderTest contract_op(ReadSide side) {
  return [side](const std::vector<at::Tensor>& in) {
    return contract(Associations{in[0], in[1]}, in[2], in[3], side);
  };
}

TEST(SelfAttentiveMemory, HandExample) {
  // One query and pair: S = (1, 2) ⊗ (3, 5) = [[3, 5], [6, 10]].
  const Associations s = {at::tensor({1.0, 2.0}, real()).view({1, 1, 1, 2}),
                          at::tensor({3.0, 5.0}, real()).view({1, 1, 2})};
  const at::Tensor slots = at::tensor({1.0, 2.0}, real()).view({1, 2, 1});  // of two reads
  const at::Tensor patterns = at::tensor({10.0, 1.0, 10.0, 1.0}, real()).view({1, 2, 2});
  // (10, 1) S = (36, 60) and S (10, 1) = (35, 70).
  EXPECT_TRUE(contract(s, slots, patterns, ReadSide::kKeys)
                  .equal(at::tensor({36.0, 60.0, 72.0, 120.0}, real()).view({1, 2, 2})));
  EXPECT_TRUE(contract(s, slots, patterns, ReadSide::kValues)
                  .equal(at::tensor({35.0, 70.0, 70.0, 140.0}, real()).view({1, 2, 2})));
  const at::Tensor row = at::tensor({1.0, 10.0, 100.0, 1000.0}, real()).view({1, 4});
  EXPECT_EQ(distil(s, row).item<double>(), 3 + 50 + 600 + 10000);
  // T[b, o] = Σ_a S[a, b] G[o, a] with G = (1, 10): columns (3, 6) and (5, 10) give 63 and 105.
  const at::Tensor map = at::tensor({1.0, 10.0}, real()).view({1, 2});
  EXPECT_TRUE(transfer(associate(s.factors, s.values), map)
                  .equal(at::tensor({63.0, 105.0}, real()).view({1, 2, 1})));
  EXPECT_EQ(transfer_factors(s, map).item<double>(), 21);
}

TEST(SelfAttentiveMemory, FactorsGiveWhatTheWholeGivesExactlyOnIntegers) {
  const auto integers = [](at::IntArrayRef sizes) { return at::randint(-4, 4, sizes, real()); };
  for (int64_t B : {1, 3})
    for (int64_t Nk : {1, 4}) {
      const Associations s = {integers({B, Nk, 2, 5}), integers({B, Nk, 6})};
      const at::Tensor whole = associate(s.factors, s.values);
      const at::Tensor to_distil = integers({3, 30}), to_transfer = integers({4, 10});
      EXPECT_TRUE(distil(s, to_distil).equal(distil(whole, to_distil)));
      EXPECT_TRUE(at::bmm(s.values.transpose(1, 2), transfer_factors(s, to_transfer))
                      .equal(transfer(whole, to_transfer)));
      for (int64_t reads : {0, 1, 3})
        for (ReadSide side : kSides) {
          const at::Tensor slots = integers({B, reads, 2});
          const at::Tensor patterns = integers({B, reads, side == ReadSide::kKeys ? 5 : 6});
          EXPECT_TRUE(
              contract(s, slots, patterns, side).equal(contract(whole, slots, patterns, side)));
        }
    }
}

TEST(SelfAttentiveMemory, TheWholeFollowsItsDefinition) {
  const at::Tensor memory = at::randint(-4, 4, {2, 3, 5, 6}, real());
  const at::Tensor slots = at::randint(-4, 4, {2, 4, 3}, real());
  const at::Tensor keys = at::randint(-4, 4, {2, 4, 5}, real());
  const at::Tensor values = at::randint(-4, 4, {2, 4, 6}, real());
  const auto sum = [&](const char* equation, const std::vector<at::Tensor>& of) {
    return at::einsum(equation, of);
  };
  EXPECT_TRUE(contract(memory, slots, keys, ReadSide::kKeys)
                  .equal(sum("bcs,bca,bsae->bce", {slots, keys, memory})));
  EXPECT_TRUE(contract(memory, slots, values, ReadSide::kValues)
                  .equal(sum("bcs,bce,bsae->bca", {slots, values, memory})));
  const at::Tensor shared = memory.narrow(0, 0, 1), copies = shared.expand({2, 3, 5, 6});
  EXPECT_TRUE(contract(shared, slots, keys, ReadSide::kKeys)
                  .equal(contract(copies, slots, keys, ReadSide::kKeys)));
  EXPECT_TRUE(contract(shared, slots, values, ReadSide::kValues)
                  .equal(contract(copies, slots, values, ReadSide::kValues)));
  const at::Tensor strided = shared.transpose(2, 3).contiguous().transpose(2, 3);
  EXPECT_TRUE(contract(strided, slots, keys, ReadSide::kKeys)
                  .equal(contract(shared, slots, keys, ReadSide::kKeys)));
  const at::Tensor map = at::randint(-4, 4, {7, 3, 5}, real());
  EXPECT_TRUE(transfer(memory, map.flatten(1)).equal(sum("bsae,osa->beo", {memory, map})));
}

TEST(SelfAttentiveMemory, GradientsAgreeWithCentralDifferences) {
  const auto s = factored(2, 3, 2, 3, 4);
  EXPECT_TRUE(test::gradients_agree(distil_op, with(s, leaf({2, 12}))));
  EXPECT_TRUE(test::gradients_agree(transfer_op, with(s, leaf({2, 6}))));
  for (ReadSide side : kSides)
    EXPECT_TRUE(test::gradients_agree(
        contract_op(side),
        with(with(s, leaf({2, 2, 2})), leaf({2, 2, side == ReadSide::kKeys ? 3 : 4}))));
}

TEST(SelfAttentiveMemory, FloatAgreesWithDouble) {
  at::manual_seed(3);
  // 80 of the last size are distilled in three blocks.
  for (const auto& s :
       {factored(1, 1, 1, 1, 1), factored(3, 2, 3, 5, 4), factored(80, 3, 2, 96, 96)})
    expect_float_agrees_with_double(
        distil_op, with(s, at::randn({4, s[0].size(3) * s[1].size(2)}, real())), 3e-5);
  expect_float_agrees_with_double(distil_op, with(factored(0, 2, 2, 3, 3), leaf({2, 9})));
  expect_float_agrees_with_double(distil_op, with(factored(2, 0, 2, 3, 3), leaf({2, 9})));
}

TEST(SelfAttentiveMemory, BFloat16IsCloseToFloat) {
  at::manual_seed(5);
  const auto floats = [](std::vector<at::Tensor> inputs) {
    for (at::Tensor& input : inputs) input = input.to(at::kFloat);
    return inputs;
  };
  const OpUnderTest distil_rounding = [](const std::vector<at::Tensor>& in) {
    return distil({in[0], in[1]}, in[2], Precision::kBFloat16);
  };
  const OpUnderTest factors = [](const std::vector<at::Tensor>& in) {
    return transfer_factors({in[0], in[0].select(2, 0)}, in[1]);
  };
  const OpUnderTest factors_rounding = [](const std::vector<at::Tensor>& in) {
    return transfer_factors({in[0], in[0].select(2, 0)}, in[1], Precision::kBFloat16);
  };
  // In one block and in three; in double, which the loops leave to composed functions.
  expect_close_to_float(distil_op, distil_rounding,
                        floats(with(factored(3, 2, 3, 16, 16), leaf({4, 256}))));
  expect_close_to_float(distil_op, distil_rounding,
                        floats(with(factored(80, 3, 2, 96, 96), leaf({4, 9216}))));
  const auto doubles = with(factored(3, 2, 3, 16, 16), leaf({4, 256}));
  EXPECT_LT(test::relative_error(distil_rounding(doubles), distil_op(doubles)), 0.02);
  expect_close_to_float(factors, factors_rounding, floats({leaf({3, 4, 2, 16}), leaf({16, 32})}));
}

TEST(SelfAttentiveMemory, RefusesBadArguments) {
  const Associations s = {at::randn({2, 3, 4, 5}), at::randn({2, 3, 6})};
  const at::Tensor whole = associate(s.factors, s.values);
  EXPECT_THROW(distil(s, at::randn({7, 31})), UsageError);
  EXPECT_THROW(distil(s, at::randn({7, 30}, real())), UsageError);
  EXPECT_THROW(distil(whole, at::randn({7, 29})), UsageError);
  EXPECT_THROW(distil({s.factors, s.values.narrow(1, 0, 2)}, at::randn({7, 30})), UsageError);
  EXPECT_THROW(transfer(whole, at::randn({7, 21})), UsageError);
  EXPECT_THROW(transfer_factors(s, at::randn({7, 21})), UsageError);
  EXPECT_THROW(contract(s, at::randn({2, 1, 3}), at::randn({2, 1, 5}), ReadSide::kKeys),
               UsageError);
  EXPECT_THROW(contract(s, at::randn({2, 1, 4}), at::randn({2, 1, 5}), ReadSide::kValues),
               UsageError);
  EXPECT_THROW(contract(s, at::randn({2, 1, 4}), at::randn({2, 2, 5}), ReadSide::kKeys),
               UsageError);
  EXPECT_THROW(contract(whole, at::randn({3, 1, 4}), at::randn({3, 1, 5}), ReadSide::kKeys),
               UsageError);
  EXPECT_THROW(
      self_attentive_memory(at::randn({2, 4, 5}), at::randn({2, 3, 5}), at::randn({2, 4, 5})),
      UsageError);
}

// Le et al. 2020, proposition 5: with one key-value pair and G1[o] = d_o times the flattened
// identity (N = D) the transfer is an outer product with the stored value: a Hebbian write.
TEST(SelfAttentiveMemory, ATrivialTransferWritesTheStoredValue) {
  const int64_t D = 4;
  const at::Tensor queries = at::randn({1, D, D}, real()), key = at::randn({1, 1, D}, real());
  const at::Tensor value = at::randn({1, 1, D}, real()), d = at::randn({D}, real());
  const Associations s = self_attentive_memory(queries, key, value);
  const at::Tensor map = at::outer(d, at::eye(D, real()).flatten());
  const at::Tensor trace = (queries[0] * key[0]).tanh().diagonal().sum();
  const at::Tensor written = transfer(associate(s.factors, s.values), map)[0];  // [value, o]
  EXPECT_LT(test::relative_error(written, at::outer(value[0][0], d * trace)), 1e-13);
}

// Proposition 7: orthonormal positive patterns stored in M = Σ x_i ⊗ x_i, weights that pick the
// last pattern as query and key and all as values, F a square root: the two-step contraction of
// SAM(M) with a pattern near the last one retrieves that one.
TEST(SelfAttentiveMemory, TheTwoStepContractionRetrievesAStoredPattern) {
  const int64_t D = 12, patterns = 4, N = 3;
  at::Tensor x = at::zeros({patterns, D}, real());  // disjoint supports: positive and orthogonal
  for (int64_t i = 0; i < patterns; ++i) x[i].narrow(0, 3 * i, 3).uniform_(0.5, 1.5);
  x = x / x.norm(2, {1}, true);
  const at::Tensor memory = at::matmul(x.t(), x), wanted = x[patterns - 1];
  const at::Tensor pick = wanted.expand({N, D}), all = x.sum(0).expand({N, D});
  const at::Tensor queries = at::matmul(pick, memory), values = at::matmul(all, memory);  // [N, D]
  const at::Tensor factors =
      (queries.unsqueeze(0) * queries.unsqueeze(1)).clamp_min(0).sqrt();  // [Nk, Nq, D]
  const Associations s = {factors.unsqueeze(0), values.unsqueeze(0)};
  const at::Tensor slots = at::randn({1, 1, N}, real()).softmax(-1);
  const at::Tensor noisy = wanted + 0.01 * at::randn({D}, real());
  const at::Tensor read = contract(s, slots, (noisy / N).view({1, 1, D}), ReadSide::kValues)[0][0];
  EXPECT_LT(test::relative_error(read, wanted), 0.1);
  const at::Tensor exact =
      contract(s, slots, (wanted / N).view({1, 1, D}), ReadSide::kValues)[0][0];
  EXPECT_LT(test::relative_error(exact, wanted), 1e-12);
}

}  // namespace
}  // namespace tessera::ops
