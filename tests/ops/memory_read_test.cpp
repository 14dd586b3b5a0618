#include "tessera/ops/memory_read.h"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <new>

#include "tessera/base/error.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/weights.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

TEST(MemoryRead, HandExample) {
  // Scores 0 and ln 3: weights 1 : 3.
  const at::Tensor query = at::ones({1, 1, 1});
  const at::Tensor keys = at::tensor({0.0, std::log(3.0)}, at::kFloat).view({1, 1, 2, 1});
  const at::Tensor values = at::tensor({4.0f, 8.0f}).view({1, 1, 2, 1});
  const auto [value, weights] = memory_read(query, keys, values);
  EXPECT_NEAR(value.item<float>(), 7, 1e-6);
  EXPECT_NEAR(weights[0][0][0].item<float>(), 0.25, 1e-6);
  EXPECT_NEAR(weights[0][0][1].item<float>(), 0.75, 1e-6);
}

TEST(MemoryRead, ContinuesKernelSmoothing) {
  at::manual_seed(1);
  for (int64_t T : {1, 2, 70})
    for (int64_t D : {1, 24, 64}) {
      const at::Tensor keys = at::randn({2, T, 3, D}) * std::pow(D, -0.25);
      const at::Tensor values = at::randn({2, T, 3, D});
      const at::Tensor expected = kernel_smoothing(keys, values).select(1, T - 1);
      const auto stored = [&](const at::Tensor& x) {
        return x.narrow(1, 0, T - 1).transpose(1, 2).contiguous();
      };
      const at::Tensor read =
          memory_read(keys.select(1, T - 1), stored(keys), stored(values)).value;
      EXPECT_LT((read - expected).abs().max().item<float>(), 1e-5) << T << " " << D;
    }
}

TEST(MemoryRead, FloatAgreesWithDoubleForEveryRemainderOfPairsAndChannels) {
  at::manual_seed(3);
  for (int64_t N : {1, 7, 15, 16, 17, 40, 100})
    for (int64_t D : {1, 7, 16, 33, 65, 96, 200}) {
      const at::Tensor query = at::randn({2, 3, D}) * std::pow(D, -0.5);
      const at::Tensor keys = at::randn({2, 3, N, D}), values = at::randn({2, 3, N, D});
      const MemoryReading actual = memory_read(query, keys, values);
      const MemoryReading expected =
          memory_read(query.to(at::kDouble), keys.to(at::kDouble), values.to(at::kDouble));
      EXPECT_LT(test::relative_error(actual.value.to(at::kDouble), expected.value), 1e-5);
      EXPECT_LT(test::relative_error(actual.weights.to(at::kDouble), expected.weights), 1e-5)
          << N << " pairs of " << D;
    }
}

TEST(MemoryRead, ReadsAsManyPairsAsEachRowHoldsInPartOfALargerStore) {
  at::manual_seed(2);
  const at::Tensor store = at::randn({3, 2, 40, 5}), query = at::randn({3, 2, 5});
  const at::Tensor keys = store.narrow(2, 0, 21), values = store.narrow(2, 4, 21);
  const std::vector<int64_t> counts = {0, 7, 21};
  const MemoryReading reading = memory_read(query, keys, values, at::tensor(counts, at::kLong));
  EXPECT_EQ(reading.value[0].abs().max().item<float>(), 0);
  for (int64_t b = 0; b < 3; ++b) {
    const at::Tensor k = keys.narrow(0, b, 1).narrow(2, 0, counts[b]).to(at::kDouble);
    const at::Tensor v = values.narrow(0, b, 1).narrow(2, 0, counts[b]).to(at::kDouble);
    const MemoryReading alone = memory_read(query.narrow(0, b, 1).to(at::kDouble), k, v);
    EXPECT_LT((reading.value.narrow(0, b, 1) - alone.value).abs().max().item<double>(), 1e-6);
    const at::Tensor weights = reading.weights.narrow(0, b, 1);
    EXPECT_LT(test::relative_error(weights.narrow(2, 0, counts[b]).to(at::kDouble), alone.weights),
              1e-6);
    EXPECT_EQ(weights.narrow(2, counts[b], 21 - counts[b]).sum().item<float>(), 0);
  }
}

TEST(MemoryRead, OfPairsOfFewerBitsReadsWhatTheyStandFor) {
  at::manual_seed(4);
  for (const WeightType type : kFewerBits)
    for (int64_t N : {1, 7, 16, 100})
      for (int64_t D : {1, 14, 32, 65, 96, 600}) {
        const double tolerance = type == WeightType::kInt8 ? 2e-4 : 1e-5;  // queries of 14 bits
        const at::Tensor query = at::randn({3, 2, D}) * std::pow(D, -0.5);
        const auto store = [&] { return stored_as(at::randn({3, 2, N + 4, D}), type); };
        const at::Tensor keys = store().narrow(2, 0, N), values = store().narrow(2, 3, N);
        const at::Tensor counts = at::tensor({int64_t{0}, N / 2, N});
        const MemoryReading actual = memory_read(query, keys, values, counts);
        const auto as_doubles = [&](const at::Tensor& pairs) {
          return as_floats(pairs, D).to(at::kDouble);
        };
        const MemoryReading expected =
            memory_read(query.to(at::kDouble), as_doubles(keys), as_doubles(values), counts);
        EXPECT_LT(test::relative_error(actual.value.to(at::kDouble), expected.value), tolerance);
        EXPECT_LT(test::relative_error(actual.weights.to(at::kDouble), expected.weights), tolerance)
            << N << " pairs of " << D;
      }
}

// By hand: the query (1, -0.5) is 8191 and -4095 units of 1 / 8191 (-4095.5 goes up), in digits
// (127, 127) and (32, 1) from -8192 on. Its products with the bytes (127, 0) and (0, 127) are
// exact.
TEST(MemoryRead, OfBytesMultipliesAQueryInTwoDigits) {
  if (!loops_run({})) GTEST_SKIP() << "of the loops, which need AVX2";
  const at::Tensor query = at::tensor({1.0f, -0.5f}).view({1, 1, 2});
  const at::Tensor pairs = stored_as(at::eye(2).view({1, 1, 2, 2}), WeightType::kInt8);
  const double scale = as_floats(pairs, 2)[0][0][0][0].item<double>();  // 1, but for its rounding
  const double first = scale, second = scale * -4095 / 8191;
  const at::Tensor weights = memory_read(query, pairs, pairs).weights;
  EXPECT_NEAR(weights[0][0][0].item<double>(), 1 / (1 + std::exp(second - first)), 1e-7);
}

TEST(MemoryRead, AKeyThatIsNotANumberIsSeenByAllThatReadIt) {
  at::manual_seed(9);
  const at::Tensor keys = at::randn({1, 2, 21, 8}), values = at::randn({1, 2, 21, 8});
  keys[0][1][3][0] = NAN;
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor k = keys.to(dtype), v = values.to(dtype);
    const at::Tensor read = memory_read(at::ones({1, 2, 8}, dtype), k, v).value[0];    // [2, 8]
    const at::Tensor slots = slot_read(at::ones({1, 5, 2, 8}, dtype), k[0], v[0])[0];  // [5, 2, 8]
    EXPECT_TRUE(read[0].isfinite().all().item<bool>());
    EXPECT_TRUE(read[1].isnan().all().item<bool>());
    EXPECT_TRUE(slots.select(1, 0).isfinite().all().item<bool>());
    EXPECT_TRUE(slots.select(1, 1).isnan().all().item<bool>());
  }
}

TEST(MemoryRead, EmptyMemoryAndEmptyBatchGiveZero) {
  EXPECT_TRUE(memory_read(at::randn({2, 3, 4}), at::randn({2, 3, 0, 4}), at::randn({2, 3, 0, 4}))
                  .value.equal(at::zeros({2, 3, 4})));
  EXPECT_EQ(memory_read(at::randn({0, 3, 4}), at::randn({0, 3, 5, 4}), at::randn({0, 3, 5, 4}))
                .value.numel(),
            0);
}

TEST(MemoryRead, WholeInBFloat16IsCloseToDouble) {
  const at::Tensor query = at::randn({2, 3, 4}).to(at::kBFloat16);
  const at::Tensor pairs = at::randn({2, 3, 5, 4}).to(at::kBFloat16);
  const at::Tensor read = memory_read(query, pairs, pairs).value;
  EXPECT_EQ(read.scalar_type(), at::kBFloat16);
  const at::Tensor doubles = pairs.to(at::kDouble);
  EXPECT_LT(test::relative_error(read.to(at::kDouble),
                                 memory_read(query.to(at::kDouble), doubles, doubles).value),
            0.05);
}

TEST(MemoryRead, RefusesBadArguments) {
  const at::Tensor query = at::randn({2, 3, 4}), pairs = at::randn({2, 3, 5, 4});
  const at::Tensor whole = at::ones({2, 3, 4}, at::kLong);
  EXPECT_THROW(memory_read(whole, whole.unsqueeze(2), whole.unsqueeze(2)), UsageError);
  EXPECT_THROW(memory_read(query[0], pairs, pairs), UsageError);
  EXPECT_THROW(memory_read(query, pairs, at::randn({2, 3, 6, 4})), UsageError);
  EXPECT_THROW(memory_read(query, at::randn({2, 5, 3, 4}), pairs), UsageError);
  EXPECT_THROW(memory_read(query, pairs, pairs, at::tensor({int64_t{1}, int64_t{6}})), UsageError);
  EXPECT_THROW(memory_read(query, pairs, pairs, at::tensor({int64_t{-1}, int64_t{5}})), UsageError);
  EXPECT_THROW(memory_read(query, pairs, pairs, at::tensor({1.0f, 2.0f})), UsageError);
  const at::Tensor halves = stored_as(pairs, WeightType::kBFloat16);
  EXPECT_THROW(memory_read(query, halves, pairs), UsageError);
  EXPECT_THROW(memory_read(query, halves.to(at::kChar), halves.to(at::kChar)), UsageError);
  EXPECT_THROW(memory_read(query.to(at::kDouble), halves, halves), UsageError);
}

OpUnderTest slot_read_op(Dropout dropout = {}, Precision precision = Precision::kFloat32) {
  return [=](const std::vector<at::Tensor>& in) {
    return slot_read(in[0], in[1], in[2], dropout, precision);
  };
}

TEST(SlotRead, HandExample) {
  // Scores 1 * 0 and 1 * ln 3: the slots weigh 1 : 3.
  const at::Tensor query = at::ones({1, 1, 1, 1});
  const at::Tensor keys = at::tensor({0.0, std::log(3.0)}, at::kFloat).view({1, 2, 1});
  const at::Tensor values = at::tensor({4.0f, 8.0f}).view({1, 2, 1});
  EXPECT_NEAR(slot_read(query, keys, values).item<float>(), 7, 1e-6);
  EXPECT_NEAR(
      slot_read(query.to(at::kDouble), keys.to(at::kDouble), values.to(at::kDouble)).item<double>(),
      7, 1e-6);
}

TEST(SlotRead, EqualsTheLoop) {
  at::manual_seed(1);
  const at::Tensor q = at::randint(-2, 3, {2, 3, 2, 4}, real());
  const at::Tensor keys = at::randint(-2, 3, {2, 5, 4}, real());
  const at::Tensor values = at::randint(-9, 9, {2, 5, 4}, real());
  at::Tensor expected = at::zeros_like(q);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 3; ++t)
      for (int64_t h = 0; h < 2; ++h) {
        double total = 0;
        for (int64_t m = 0; m < 5; ++m) {
          const double weight = std::exp(q[b][t][h].dot(keys[h][m]).item<double>());
          total += weight;
          expected[b][t][h] += weight * values[h][m];
        }
        expected[b][t][h] /= total;
      }
  EXPECT_LT(test::relative_error(slot_read(q, keys, values), expected), 1e-12);
}

TEST(SlotRead, IsTheSameOnAnotherDevice) {
  at::manual_seed(9);
  const at::Tensor keys = at::randn({3, 5, 4}, real()), values = at::randn({3, 5, 4}, real());
  for (const int64_t T : {0, 1, 6}) {
    SCOPED_TRACE(T);
    const std::vector<at::Tensor> inputs = {at::randn({2, T, 3, 4}, real()), keys, values};
    expect_same_on_other_device(slot_read_op(), inputs, 1e-12);
    expect_same_on_other_device(slot_read_op({0.3, 5}), inputs, 1e-12);
    expect_same_on_other_device(slot_read_op({}, Precision::kBFloat16), inputs, 0.03);
  }
}

TEST(SlotRead, GradientsAgreeWithCentralDifferences) {
  at::manual_seed(2);
  EXPECT_TRUE(test::gradients_agree(slot_read_op(),
                                    {leaf({2, 3, 2, 3}), leaf({2, 5, 3}), leaf({2, 5, 3})}));
  EXPECT_TRUE(test::gradients_agree(slot_read_op({0.3, 5}),
                                    {leaf({2, 3, 2, 3}), leaf({2, 5, 3}), leaf({2, 5, 3})}));
}

TEST(SlotRead, FloatAgreesWithDouble) {
  at::manual_seed(3);
  for (int64_t T : {0, 1, 7, 100})
    for (int64_t M : {2, 13, 128, 300})
      for (int64_t D : {1, 16, 24, 64, 100})
        expect_float_agrees_with_double(
            slot_read_op(),
            {at::randn({3, T, 2, D}, real()) * std::pow(D, -0.25),
             at::randn({2, M, D}, real()) * std::pow(D, -0.25), at::randn({2, M, D}, real())});
  expect_float_agrees_with_double(slot_read_op(),
                                  {at::randn({0, 3, 2, 4}, real()), at::randn({2, 5, 4}, real()),
                                   at::randn({2, 5, 4}, real())});
}

TEST(SlotRead, FloatAgreesWithDoubleUnderDropout) {
  at::manual_seed(6);
  for (int64_t T : {1, 40, 137})
    expect_float_agrees_with_double(
        slot_read_op({0.2, uint64_t{1} << 40}),
        {at::randn({3, T, 2, 20}, real()) * 0.5, at::randn({2, 300, 20}, real()) * 0.5,
         at::randn({2, 300, 20}, real())});
}

TEST(SlotRead, DropsWeightsByTheSeed) {
  at::manual_seed(7);
  const at::Tensor q = at::randn({2, 9, 2, 4}), keys = at::randn({2, 30, 4});
  const at::Tensor values = at::ones({2, 30, 4});
  const auto read = [&](const Dropout& dropout) { return slot_read(q, keys, values, dropout); };
  EXPECT_TRUE(read({0.3, 1}).equal(read({0.3, 1})));
  EXPECT_FALSE(read({0.3, 1}).equal(read({0.3, 2})));
  EXPECT_TRUE(read({0, 1}).equal(read({})));
  // All values are 1, so that a read is the sum of the weights: 1 where nothing is dropped.
  const at::Tensor sums = read({0.3, 1});
  EXPECT_NEAR(sums.mean().item<float>(), 1, 0.1);
  EXPECT_GT((sums - 1).abs().min().item<float>(), 1e-6);
}

TEST(SlotRead, OneStepWithoutGradientAgreesWithDouble) {
  at::manual_seed(8);
  at::NoGradGuard no_grad;
  for (int64_t B : {0, 1, 3, 17})
    for (int64_t M : {0, 1, 6, 300})
      for (int64_t D : {1, 16, 24, 64, 100}) {
        const at::Tensor q = at::randn({B, 1, 2, D}) * std::pow(D, -0.5);
        const at::Tensor keys = at::randn({2, M, D}), values = at::randn({2, M, D});
        const at::Tensor expected =
            slot_read(q.to(at::kDouble), keys.to(at::kDouble), values.to(at::kDouble));
        const at::Tensor actual = slot_read(q, keys, values);
        ASSERT_EQ(actual.sizes(), q.sizes());
        EXPECT_LT(test::relative_error(actual.to(at::kDouble), expected), 1e-5)
            << "B " << B << " M " << M << " D " << D;
      }
}

TEST(SlotRead, ReturnsAnOnlySlot) {
  const at::Tensor values = at::randn({2, 1, 4});
  EXPECT_TRUE(slot_read(at::randn({3, 5, 2, 4}), at::randn({2, 1, 4}), values)
                  .equal(values.view({1, 1, 2, 4}).expand({3, 5, 2, 4})));
}

TEST(SlotRead, WithoutSlotsIsZero) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const auto options = at::TensorOptions().dtype(dtype);
    const auto result = value_and_gradients(
        slot_read_op(), {at::randn({2, 3, 2, 4}, options), at::randn({2, 0, 4}, options),
                         at::randn({2, 0, 4}, options)});
    EXPECT_TRUE(result[0].equal(at::zeros({2, 3, 2, 4}, options)));
    EXPECT_TRUE(result[1].equal(at::zeros({2, 3, 2, 4}, options)));
  }
}

TEST(SlotRead, DoesNotDependOnTheNumberOfThreads) {
  if (!loops_run({})) GTEST_SKIP() << "a promise of the loops, which need AVX2";
  at::manual_seed(4);
  expect_same_on_any_threads(
      slot_read_op(), {at::randn({3, 50, 2, 24}), at::randn({2, 70, 24}), at::randn({2, 70, 24})});
}

// Two slots with the scores 0 and -q: the second weighs e^-q / (1 + e^-q). Rounding errs by 0.4 %
// at most and to either side; what the exponential errs by would stay in the mean.
TEST(SlotRead, BFloat16HasTheExponentialsOfItsScores) {
  const int64_t T = 640;
  const at::Tensor q = at::arange(T, at::kFloat) / 128;  // exact in bfloat16 up to 2, then rounded
  const at::Tensor queries = q.to(at::kBFloat16).to(at::kFloat).view({1, T, 1, 1});
  const at::Tensor read =
      slot_read(queries, at::tensor({0.0F, -1.0F}).view({1, 2, 1}),
                at::tensor({0.0F, 1.0F}).view({1, 2, 1}), {}, Precision::kBFloat16);
  const at::Tensor errors = read / (-queries).sigmoid() - 1;
  EXPECT_LT(errors.abs().max().item<double>(), 0.005);
  EXPECT_LT(std::abs(errors.mean().item<double>()), 0.0004);
}

TEST(SlotRead, BFloat16IsCloseAndItsGradientsAreFloat) {
  at::manual_seed(5);
  for (int64_t M : {3, 100, 260})
    for (int64_t D : {8, 24, 64}) {
      const std::vector<at::Tensor> inputs = {at::randn({2, 37, 2, D}) * std::pow(D, -0.25),
                                              at::randn({2, M, D}) * std::pow(D, -0.25),
                                              at::randn({2, M, D})};
      SCOPED_TRACE(testing::Message() << "M " << M << " D " << D);
      expect_close_to_float(slot_read_op({0.1, 7}), slot_read_op({0.1, 7}, Precision::kBFloat16),
                            inputs, 0.03, /*differs=*/false);
    }
}

TEST(SlotRead, RefusesBadArguments) {
  const at::Tensor q = at::randn({1, 3, 2, 4}), slots = at::randn({2, 5, 4});
  EXPECT_THROW(slot_read(q[0], slots, slots), UsageError);
  EXPECT_THROW(slot_read(q, at::randn({3, 5, 4}), slots), UsageError);
  EXPECT_THROW(slot_read(q, slots, at::randn({2, 6, 4})), UsageError);
  EXPECT_THROW(slot_read(q, slots.to(at::kDouble), slots), UsageError);
}

TEST(MeanSlotRead, IsTheMeanOfTheMemoriesTimesTheScale) {
  at::manual_seed(6);
  const at::Tensor queries = at::randn({2, 3, 2, 4}, real());
  const at::Tensor keys = at::randn({3, 2, 5, 4}, real()), values = at::randn_like(keys);
  const at::Tensor scale = at::tensor({2.0, -1.0}, real());
  at::Tensor sum = at::zeros_like(queries);
  for (int64_t p = 0; p < 3; ++p) sum = sum + slot_read(queries, keys[p], values[p]);
  const at::Tensor expected = sum / 3 * scale.view({2, 1});
  EXPECT_LT(test::relative_error(mean_slot_read(queries, keys, values, scale), expected), 1e-14);
  // Equal memories with dropout: the masks differ.
  const at::Tensor same = keys.narrow(0, 0, 1).expand({2, 2, 5, 4}).contiguous();
  const Dropout dropout = {0.5, 7};
  EXPECT_GT(test::relative_error(mean_slot_read(queries, same, same, scale, dropout),
                                 mean_slot_read(queries, same.narrow(0, 0, 1), same.narrow(0, 0, 1),
                                                scale, dropout)),
            0.01);
  EXPECT_TRUE(test::gradients_agree(
      [](const std::vector<at::Tensor>& in) { return mean_slot_read(in[0], in[1], in[2], in[3]); },
      {leaf({1, 2, 2, 3}), leaf({2, 2, 4, 3}), leaf({2, 2, 4, 3}), leaf({2})}));
}

TEST(MeanSlotRead, RefusesBadArguments) {
  const at::Tensor queries = at::randn({1, 1, 2, 4}), scale = at::ones({2});
  EXPECT_THROW(mean_slot_read(queries, at::zeros({0, 2, 3, 4}), at::zeros({0, 2, 3, 4}), scale),
               UsageError);
  EXPECT_THROW(mean_slot_read(queries, at::zeros({2, 2, 3, 4}), at::zeros({1, 2, 3, 4}), scale),
               UsageError);
  EXPECT_THROW(mean_slot_read(queries, at::zeros({2, 3, 4}), at::zeros({2, 3, 4}), scale),
               UsageError);
  const at::Tensor floats = at::ones({2, 2, 3, 4});
  EXPECT_THROW(mean_slot_read(queries, floats, floats, at::ones({1})), UsageError);
  EXPECT_THROW(mean_slot_read(queries, floats, floats, scale.to(at::kDouble)), UsageError);
  for (const WeightType type : kFewerBits) {
    const auto slots = [&](at::IntArrayRef sizes) { return stored_as(at::ones(sizes), type); };
    const at::Tensor good = slots({2, 2, 3, 4});
    EXPECT_THROW(mean_slot_read(queries, slots({2, 1, 3, 4}), good, scale), UsageError);
    EXPECT_THROW(mean_slot_read(queries, good, slots({2, 2, 2, 4}), scale), UsageError);
    EXPECT_THROW(mean_slot_read(queries, good, at::ones({2, 2, 3, 4}), scale), UsageError);
    EXPECT_THROW(mean_slot_read(queries, good, good, scale, {.probability = 1}), UsageError);
  }
}

// The loops take their working memory before they start their threads: what does not exist is an
// exception, not the end of the process.
TEST(SlotRead, OfMoreSlotsThanMemoryHoldsThrows) {
  if (!loops_run({})) GTEST_SKIP() << "the composed read takes no working memory";
  const at::Tensor slots = at::zeros({1, 1, 64}).expand({1, int64_t{1} << 40, 64});
  EXPECT_THROW(slot_read(at::zeros({1, 1, 1, 64}), slots, slots), std::bad_alloc);
}

}  // namespace
}  // namespace tessera::ops
