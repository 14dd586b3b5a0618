#include "tessera/ops/causal_read.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/ops/memory_read.h"
#include "tessera/ops/weights.h"
#include "tessera/simd/instruction_set.h"
#include "tests/ops/float_agreement.h"
#include "tests/support/slow_reads.h"

namespace tessera::ops {
namespace {

OpUnderTest smoothing(Dropout dropout = {}, Precision precision = Precision::kFloat32) {
  return [=](const std::vector<at::Tensor>& in) {
    return kernel_smoothing(in[0], in[1], dropout, precision);
  };
}

OpUnderTest attention(double scale, at::Tensor slopes = {}, Dropout dropout = {},
                      Precision precision = Precision::kFloat32) {
  return [=](const std::vector<at::Tensor>& in) {
    return causal_attention(in[0], in[1], in[2], scale,
                            slopes.defined() ? slopes.to(in[0].scalar_type()) : slopes, dropout,
                            precision);
  };
}

TEST(KernelSmoothing, HandExample) {
  // Keys 0, 1, ln 3: the third row weighs v_1 with e^0 and v_2 with e^(ln 3), that is 1 : 3.
  const at::Tensor keys = at::tensor({0.0, 1.0, std::log(3.0)}, real()).view({1, 3, 1, 1});
  const at::Tensor values = at::tensor({4.0, 8.0, 100.0}, real()).view({1, 3, 1, 1});
  const at::Tensor expected = at::tensor({0.0, 4.0, 7.0}, real()).view({1, 3, 1, 1});
  EXPECT_LT(test::relative_error(kernel_smoothing(keys, values), expected), 1e-12);
  const at::Tensor read = kernel_smoothing(keys.to(at::kFloat), values.to(at::kFloat));
  EXPECT_LT(test::relative_error(read, expected.to(at::kFloat)), 1e-6);
  EXPECT_EQ(read[0][0][0][0].item<float>(), 0);
  EXPECT_EQ(read[0][1][0][0].item<float>(), 4);
}

TEST(KernelSmoothing, EqualsTheLoop) {
  at::manual_seed(1);
  const at::Tensor keys = at::randint(-2, 3, {2, 6, 2, 3}, real());
  const at::Tensor values = at::randint(-9, 9, {2, 6, 2, 3}, real());
  const at::Tensor expected = test::slow_causal_read(keys, keys, values, 1, 1, {});
  EXPECT_LT(test::relative_error(kernel_smoothing(keys, values), expected), 1e-12);
}

TEST(CausalAttention, EqualsTheLoop) {
  at::manual_seed(2);
  const at::Tensor q = at::randint(-2, 3, {2, 6, 2, 3}, real());
  const at::Tensor k = at::randint(-2, 3, {2, 6, 2, 3}, real());
  const at::Tensor v = at::randint(-9, 9, {2, 6, 2, 3}, real());
  EXPECT_LT(
      test::relative_error(attention(0.5)({q, k, v}), test::slow_causal_read(q, k, v, 0.5, 0, {})),
      1e-12);
  EXPECT_LT(test::relative_error(attention(0.5, at::tensor({0.5, 0.125}, real()))({q, k, v}),
                                 test::slow_causal_read(q, k, v, 0.5, 0, {0.5, 0.125})),
            1e-12);
}

TEST(CausalReads, AreTheSameOnAnotherDevice) {
  at::manual_seed(7);
  for (const int64_t T : {0, 1, 2, 9}) {
    const auto sequence = [&] { return at::randn({2, T, 2, 3}, real()); };
    const std::vector<at::Tensor> pairs = {sequence(), sequence()};
    const std::vector<at::Tensor> triple = {sequence(), sequence(), sequence()};
    SCOPED_TRACE(T);
    expect_same_on_other_device(smoothing(), pairs, 1e-12);
    expect_same_on_other_device(attention(0.5), triple, 1e-12);
    // What LibTorch's attention does not do.
    expect_same_on_other_device(smoothing({0.3, 5}), pairs, 1e-12);
    expect_same_on_other_device(attention(0.5, {}, {}, Precision::kBFloat16), triple, 0.03);
  }
}

TEST(CausalReads, GradientsAgreeWithCentralDifferences) {
  at::manual_seed(3);
  const Dropout dropout{0.3, 5};
  EXPECT_TRUE(test::gradients_agree(smoothing(), {leaf({2, 5, 2, 3}), leaf({2, 5, 2, 3})}));
  EXPECT_TRUE(test::gradients_agree(smoothing(dropout), {leaf({1, 5, 2, 2}), leaf({1, 5, 2, 2})}));
  const at::Tensor slopes = at::tensor({0.5, 0.25}, real());
  EXPECT_TRUE(test::gradients_agree(attention(0.7, slopes, dropout),
                                    {leaf({2, 4, 2, 3}), leaf({2, 4, 2, 3}), leaf({2, 4, 2, 3})}));
}

TEST(CausalReads, FloatAgreesWithDouble) {
  at::manual_seed(4);
  for (int64_t T : {0, 1, 2, 3, 16, 65, 150, 261})
    for (int64_t D : {1, 16, 24, 64, 100, 144}) {
      const auto input = [&] { return at::randn({2, T, 3, D}, real()) * std::pow(D, -0.25); };
      expect_float_agrees_with_double(smoothing(), {input() * 1.5, input()});
      expect_float_agrees_with_double(attention(0.8), {input(), input(), input()});
    }
  expect_float_agrees_with_double(
      smoothing(), {at::randn({0, 4, 2, 3}, real()), at::randn({0, 4, 2, 3}, real())});
}

TEST(CausalReads, FloatAgreesWithDoubleUnderSlopesAndDropout) {
  at::manual_seed(5);
  const at::Tensor slopes = at::tensor({0.5, 0.01}, real());
  for (int64_t T : {2, 40, 137}) {
    const auto input = [&] { return at::randn({2, T, 2, 20}, real()) * 0.5; };
    expect_float_agrees_with_double(smoothing({0.2, 77}), {input(), input()});
    expect_float_agrees_with_double(attention(1, slopes, {0.5, uint64_t{1} << 40}),
                                    {input(), input(), input()});
  }
}

TEST(CausalReads, GoOnAfterEarlierPairs) {
  // The last T of N + T queries read as all of them do, whether or not the last pair is there.
  at::manual_seed(9);
  for (const auto dtype : {at::kFloat, at::kDouble})
    for (int64_t lag : {0, 1})
      for (int64_t N : {0, 1, 50, 300})
        for (int64_t T : {1, 2, 60}) {
          const auto input = [&] { return at::randn({2, N + T, 2, 24}, dtype) * 0.5; };
          const at::Tensor q = input(), k = input(), v = input();
          CausalReadOptions options;
          options.lag = lag;
          const at::Tensor whole = causal_read(q, k, v, options).narrow(1, N, T);
          options.lag = lag - N;
          const int64_t pairs = N + T - lag;
          const at::Tensor after =
              causal_read(q.narrow(1, N, T), k.narrow(1, 0, pairs), v.narrow(1, 0, pairs), options);
          EXPECT_LT((after - whole).abs().max().item<double>(), 1e-5)
              << lag << " " << N << " " << T;
        }
}

TEST(CausalReads, PairsOfFewerBitsAnswerAsTheirFloats) {
  at::manual_seed(12);
  for (const WeightType type : kFewerBits)
    for (const int64_t N : {0, 1, 90})
      for (const int64_t D : {24, 64}) {
        const auto pairs = [&] { return stored_as(at::randn({2, 3, N + 5, D}), type); };
        const at::Tensor queries = at::randn({2, 5, 3, D}), keys = pairs(), values = pairs();
        const auto by_time = [](const at::Tensor& all) { return all.transpose(1, 2); };
        CausalReadOptions options;
        options.lag = -N;
        const at::Tensor read = causal_read(queries, by_time(keys), by_time(values), options);
        const at::Tensor of_floats = causal_read(queries, by_time(as_floats(keys, D)),
                                                 by_time(as_floats(values, D)), options);
        // Without a loop of its own OpenBLAS multiplies, whose order depends on how pairs lie.
        const bool has_loop = simd::instruction_set() > simd::InstructionSet::kBaseline;
        EXPECT_LE((read - of_floats).abs().max().item<double>(), has_loop ? 0 : 2e-5)
            << static_cast<int>(type) << " " << N << " " << D;
      }
}

TEST(CausalReads, GradientsOfMorePairsThanQueriesAgree) {
  at::manual_seed(10);
  CausalReadOptions options;
  options.lag = -3;
  const OpUnderTest op = [&](const std::vector<at::Tensor>& in) {
    return causal_read(in[0], in[1], in[2], options);
  };
  EXPECT_TRUE(
      test::gradients_agree(op, {leaf({1, 2, 2, 3}), leaf({1, 5, 2, 3}), leaf({1, 5, 2, 3})}));
  expect_float_agrees_with_double(
      op, {at::randn({2, 20, 2, 8}, real()), at::randn({2, 23, 2, 8}, real()),
           at::randn({2, 23, 2, 8}, real())});
}

TEST(CausalReads, PairsThatNoQueryReadsHaveNoGradient) {
  for (int repetition = 0; repetition < 5; ++repetition) {  // in memory that held something else
    const at::Tensor keys = at::ones({1, 4, 2, 8}).requires_grad_(true);
    const at::Tensor values = at::ones({1, 4, 2, 8}).requires_grad_(true);
    for (int tensors = 0; tensors < 4; ++tensors) at::full({1, 4, 2, 8}, NAN);
    causal_read(at::ones({1, 0, 2, 8}), keys, values, {}).sum().backward();
    EXPECT_TRUE(keys.grad().equal(at::zeros({1, 4, 2, 8})));
    EXPECT_TRUE(values.grad().equal(at::zeros({1, 4, 2, 8})));
  }
}

OpUnderTest windowed(int64_t lag, int64_t window, Dropout dropout = {},
                     Precision precision = Precision::kFloat32) {
  return [=](const std::vector<at::Tensor>& in) {
    const CausalReadOptions options{
        .lag = lag, .window = window, .dropout = dropout, .precision = precision};
    return causal_read(in[0], in[1], in[2], options);
  };
}

/// Each time reads its window alone.
at::Tensor windowed_loop(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t lag,
                         int64_t window) {
  at::Tensor y = at::zeros_like(q);
  for (int64_t t = std::max<int64_t>(0, lag); t < q.size(1); ++t) {
    const int64_t first = std::max<int64_t>(0, t - lag - window + 1), count = t - lag + 1 - first;
    const at::Tensor scores =
        at::matmul(k.narrow(1, first, count).transpose(1, 2), q.select(1, t).unsqueeze(-1));
    y.select(1, t).copy_(
        (scores.softmax(2) * v.narrow(1, first, count).transpose(1, 2)).sum(2));  // [B, H, D]
  }
  return y;
}

TEST(CausalReads, LeaveWhatLiesBeforeTheirWindow) {
  at::manual_seed(12);
  for (int64_t T : {1, 5, 70, 330})
    for (int64_t window : {1, 3, 64, 100, 400})
      for (int64_t lag : {-100, 0, 1, 7}) {
        const int64_t pairs = T - std::min<int64_t>(0, lag);
        const auto input = [](int64_t length) { return at::randn({1, length, 2, 20}, real()); };
        const std::vector<at::Tensor> inputs = {input(T) * 0.7, input(pairs) * 0.7, input(pairs)};
        EXPECT_LT(test::relative_error(windowed(lag, window)(inputs),
                                       windowed_loop(inputs[0], inputs[1], inputs[2], lag, window)),
                  1e-12)
            << T << " " << window << " " << lag;
        expect_float_agrees_with_double(windowed(lag, window), inputs);
        expect_float_agrees_with_double(windowed(lag, window, {0.3, 4}), inputs);
      }
}

TEST(CausalReads, GradientsOfAWindowAgree) {
  at::manual_seed(13);
  EXPECT_TRUE(test::gradients_agree(windowed(1, 2),
                                    {leaf({2, 6, 2, 3}), leaf({2, 6, 2, 3}), leaf({2, 6, 2, 3})}));
}

TEST(CausalReads, AWindowInBFloat16IsCloseToFloat) {
  at::manual_seed(14);
  const auto input = [] { return at::randn({2, 330, 2, 24}) * 0.4; };
  expect_close_to_float(windowed(1, 100), windowed(1, 100, {}, Precision::kBFloat16),
                        {input(), input(), input()}, 0.03, /*differs=*/false);
}

TEST(CausalReads, StaySharpAndFiniteForLongKeys) {
  // Bandwidth e^10, the paper's cap: the read becomes the nearest neighbour.
  at::manual_seed(6);
  const at::Tensor directions = at::randn({1, 70, 1, 8}, real());
  const at::Tensor keys = directions / directions.norm(2, {-1}, true) * std::exp(5.0);
  const at::Tensor values = at::randn({1, 70, 1, 8}, real());
  const at::Tensor read = kernel_smoothing(keys.to(at::kFloat), values.to(at::kFloat));
  EXPECT_TRUE(read.isfinite().all().item<bool>());
  EXPECT_LT(test::relative_error(read.to(at::kDouble), kernel_smoothing(keys, values)), 0.02);
}

TEST(CausalReads, WeightsOfLargeScoresSumToOneInTheGradientToo) {
  // Equal keys of length e^8, so that scores of 8,886,110 count equally; a multiple of the float
  // step there is lost beside them.
  const at::Tensor keys = at::full({1, 200, 1, 16}, std::exp(8.0) / 4);
  const at::Tensor values = at::ones({1, 200, 1, 16}).requires_grad_(true);
  causal_attention(keys, keys, values, 1).sum().backward();
  EXPECT_NEAR(values.grad().sum().item<double>() / values.numel(), 1, 1e-5);
}

TEST(CausalReads, AKeyThatIsNotANumberIsSeenByAllThatReadIt) {
  at::manual_seed(15);
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor keys = at::randn({1, 150, 2, 8}, dtype), values = at::randn_like(keys);
    keys[0][40][1][3] = NAN;
    const at::Tensor read = kernel_smoothing(keys, values);  // [1, 150, 2, 8]
    EXPECT_TRUE(read.narrow(1, 0, 40).isfinite().all().item<bool>());
    EXPECT_TRUE(read.select(2, 0).isfinite().all().item<bool>());  // another head
    EXPECT_TRUE(read.narrow(1, 40, 110).select(2, 1).isnan().all().item<bool>());
  }
}

TEST(CausalReads, WhatIsNotANumberStaysInItsSequenceAndHead) {
  at::manual_seed(16);
  const auto with_nan = [](at::Tensor x) {
    x[0][x.size(1) / 2][0][3] = NAN;
    return x;
  };
  for (const Precision precision : {Precision::kFloat32, Precision::kBFloat16})
    for (const int64_t T : {33, 70, 273})  // parts of a tile, and of a block of pairs
      for (int wrong = 0; wrong < 4; ++wrong) {
        std::vector<at::Tensor> all;  // queries, keys, values and the gradient of the reading
        for (int i = 0; i < 4; ++i) {
          const at::Tensor x = at::randn({2, T, 2, 24});
          all.push_back((i == wrong ? with_nan(x) : x).set_requires_grad(i < 3));
        }
        const at::Tensor read = attention(0.5, {}, {}, precision)({all[0], all[1], all[2]});
        read.backward(all[3]);
        for (const at::Tensor& x : {read, all[0].grad(), all[1].grad(), all[2].grad()}) {
          const at::Tensor finite = x.isfinite().all(3).all(1);  // [B, H]
          finite[0][0] = true;
          EXPECT_TRUE(finite.all().item<bool>()) << T << " " << wrong;
        }
      }
}

TEST(CausalReads, TheFutureDoesNotLeak) {
  at::manual_seed(7);
  at::Tensor keys = at::randn({1, 130, 2, 8}), values = at::randn({1, 130, 2, 8});
  const at::Tensor before = kernel_smoothing(keys, values);
  keys.narrow(1, 100, 30).mul_(-3);
  values.narrow(1, 99, 31).add_(5);
  const at::Tensor after = kernel_smoothing(keys, values);
  EXPECT_TRUE(before.narrow(1, 0, 100).equal(after.narrow(1, 0, 100)));
  EXPECT_FALSE(before.select(1, 101).equal(after.select(1, 101)));
}

TEST(CausalReads, DropoutIsAFunctionOfItsSeed) {
  at::manual_seed(8);
  const at::Tensor keys = at::randn({2, 50, 2, 8}), values = at::randn({2, 50, 2, 8});
  const auto read = [&](uint64_t seed) { return kernel_smoothing(keys, values, {0.3, seed}); };
  EXPECT_TRUE(read(1).equal(read(1)));
  EXPECT_FALSE(read(1).equal(read(2)));
  EXPECT_TRUE(kernel_smoothing(keys, values, {0, 1}).equal(kernel_smoothing(keys, values)));
}

TEST(CausalReads, DoNotDependOnTheNumberOfThreads) {
  at::manual_seed(9);
  expect_same_on_any_threads(smoothing({0.1, 3}),
                             {at::randn({3, 90, 2, 24}), at::randn({3, 90, 2, 24})});
}

TEST(CausalReads, ReadViewsOfALinearLayer) {
  at::manual_seed(10);
  const OpUnderTest sliced = [](const std::vector<at::Tensor>& in) {
    const auto part = [&](int64_t first) { return in[0].narrow(2, first, 12).view({2, 37, 3, 4}); };
    return causal_attention(part(0), part(12), part(24), 0.5);
  };
  expect_float_agrees_with_double(sliced, {at::randn({2, 37, 36}, real())});
}

TEST(CausalReads, BFloat16IsCloseAndItsGradientsAreFloat) {
  at::manual_seed(11);
  // Not T = 2: with one stored pair the keys' gradient is zero but for rounding.
  for (int64_t T : {1, 3, 33, 150, 273})  // 273: the last tile has half a block of pairs
    for (int64_t D : {8, 24, 64, 100}) {
      const at::Tensor keys = at::randn({2, T, 2, D}) * std::pow(D, -0.25);
      const at::Tensor values = at::randn({2, T, 2, D});
      SCOPED_TRACE(testing::Message() << "T " << T << " D " << D);
      expect_close_to_float(smoothing({0.1, 7}), smoothing({0.1, 7}, Precision::kBFloat16),
                            {keys, values}, 0.03, /*differs=*/false);
    }
}

TEST(CausalReads, RefuseBadArguments) {
  const at::Tensor x = at::randn({1, 3, 2, 4});
  EXPECT_THROW(kernel_smoothing(x[0], x[0]), UsageError);
  EXPECT_THROW(kernel_smoothing(x, at::randn({1, 4, 2, 4})), UsageError);
  EXPECT_THROW(kernel_smoothing(x, x.to(at::kDouble)), UsageError);
  EXPECT_THROW(kernel_smoothing(x, x, {1.0, 0}), UsageError);
  EXPECT_THROW(kernel_smoothing(x, x, {-0.1, 0}), UsageError);
  EXPECT_THROW(causal_attention(x, x, at::randn({1, 3, 2, 5}), 1), UsageError);
  EXPECT_THROW(causal_attention(x, x, x, 1, at::ones({3})), UsageError);
  EXPECT_THROW(causal_attention(x, x, x, 1, at::ones({2}).requires_grad_(true)), UsageError);
}

TEST(DropoutFactors, KeepTheirShareAndTheMean) {
  const at::Tensor factors = dropout_factors({0.25, 9}, 4, 3, 1, 100, 100, real());
  const double n = factors.numel(), mean = factors.mean().item<double>();
  // The mean of n factors has standard deviation sqrt(p / (1 - p) / n).
  EXPECT_NEAR(mean, 1, 5 * std::sqrt(0.25 / 0.75 / n));
  EXPECT_EQ(factors.gt(0).sum().item<int64_t>(), factors.eq(1 / 0.75).sum().item<int64_t>());
  // Neighbours in b, h, t and i are uncorrelated: both kept with probability 0.75^2.
  for (int64_t axis = 0; axis < 4; ++axis) {
    const int64_t length = factors.size(axis) - 1;
    const at::Tensor both =
        factors.narrow(axis, 0, length).gt(0).logical_and(factors.narrow(axis, 1, length).gt(0));
    EXPECT_NEAR(both.to(at::kDouble).mean().item<double>(), 0.5625, 0.008) << axis;
  }
}

TEST(AlibiSlopes, ArePublishedForPowersOfTwo) {
  // The paper's two examples: from 2^-1 and from 2^-0.5 down to 2^-8.
  for (const int64_t heads : {8, 16}) {
    const at::Tensor expected = at::pow(2, at::arange(1, heads + 1, real()) * (-8.0 / heads));
    EXPECT_LT(test::relative_error(alibi_slopes(heads).to(at::kDouble), expected), 1e-6) << heads;
  }
}

/// get_slopes of the authors' code (ofirpress/attention_with_linear_biases), word for word.
std::vector<double> slopes_of_the_authors(int64_t n) {
  const auto power_of_2 = [](int64_t n) {
    const double start = std::pow(2, -std::pow(2, -(std::log2(n) - 3)));
    std::vector<double> slopes;
    for (int64_t i = 0; i < n; ++i) slopes.push_back(start * std::pow(start, i));
    return slopes;
  };
  if (std::log2(n) == std::floor(std::log2(n))) return power_of_2(n);
  const auto closest = static_cast<int64_t>(std::pow(2, std::floor(std::log2(n))));
  std::vector<double> slopes = power_of_2(closest);
  const std::vector<double> next = slopes_of_the_authors(2 * closest);
  for (int64_t i = 0; i < n - closest; ++i) slopes.push_back(next[2 * i]);
  return slopes;
}

TEST(AlibiSlopes, AreTheAuthorsForEveryNumberOfHeads) {
  for (int64_t heads = 1; heads <= 70; ++heads) {
    const at::Tensor expected = at::tensor(slopes_of_the_authors(heads), at::kDouble);
    EXPECT_LT(test::relative_error(alibi_slopes(heads).to(at::kDouble), expected), 1e-6) << heads;
  }
}

TEST(AlibiSlopes, RefuseNoHeads) {
  EXPECT_THROW(alibi_slopes(0), UsageError);
  EXPECT_THROW(alibi_slopes(-2), UsageError);
}

}  // namespace
}  // namespace tessera::ops
