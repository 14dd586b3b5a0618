#include "tessera/ops/self_attentive_memory.h"

#include "tessera/base/error.h"
#include "tessera/ops/outer_product_attention.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

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
