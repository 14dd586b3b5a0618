#include "tessera/ops/memory_read.h"

#include <cmath>

#include "tessera/base/error.h"
#include "tessera/ops/causal_read.h"
#include "tessera/ops/weights.h"
#include "tests/ops/float_agreement.h"

namespace tessera::ops {
namespace {

TEST(MemoryRead, HandExample) {
  // Scores 0 and ln 3: weights 1 : 3.
  const at::Tensor query = at::ones({1, 1, 1});
  const at::Tensor keys = at::tensor({0.0, std::log(3.0)}, at::kFloat).view({1, 1, 2, 1});
  const at::Tensor values = at::tensor({4.0f, 8.0f}).view({1, 1, 2, 1});
  EXPECT_NEAR(memory_read(query, keys, values).item<float>(), 7, 1e-6);
  const at::Tensor weights = inspect_memory_read(query, keys, values).weights;
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
      const at::Tensor read = memory_read(keys.select(1, T - 1), stored(keys), stored(values));
      EXPECT_LT((read - expected).abs().max().item<float>(), 1e-5) << T << " " << D;
    }
}

TEST(MemoryRead, FloatAgreesWithDoubleForEveryRemainderOfPairsAndChannels) {
  at::manual_seed(3);
  for (int64_t N : {1, 7, 15, 16, 17, 40, 100})
    for (int64_t D : {1, 7, 16, 33, 65, 96, 200}) {
      const at::Tensor query = at::randn({2, 3, D}) * std::pow(D, -0.5);
      const at::Tensor keys = at::randn({2, 3, N, D}), values = at::randn({2, 3, N, D});
      const MemoryReading actual = inspect_memory_read(query, keys, values);
      const MemoryReading expected =
          inspect_memory_read(query.to(at::kDouble), keys.to(at::kDouble), values.to(at::kDouble));
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
  const MemoryReading reading =
      inspect_memory_read(query, keys, values, at::tensor(counts, at::kLong));
  EXPECT_EQ(reading.value[0].abs().max().item<float>(), 0);
  for (int64_t b = 0; b < 3; ++b) {
    const at::Tensor k = keys.narrow(0, b, 1).narrow(2, 0, counts[b]).to(at::kDouble);
    const at::Tensor v = values.narrow(0, b, 1).narrow(2, 0, counts[b]).to(at::kDouble);
    const MemoryReading alone = inspect_memory_read(query.narrow(0, b, 1).to(at::kDouble), k, v);
    EXPECT_LT((reading.value.narrow(0, b, 1) - alone.value).abs().max().item<double>(), 1e-6);
    const at::Tensor weights = reading.weights.narrow(0, b, 1);
    EXPECT_LT(test::relative_error(weights.narrow(2, 0, counts[b]).to(at::kDouble), alone.weights),
              1e-6);
    EXPECT_EQ(weights.narrow(2, counts[b], 21 - counts[b]).sum().item<float>(), 0);
  }
  EXPECT_TRUE(memory_read(query, keys, values, at::tensor(counts, at::kLong)).equal(reading.value));
}

TEST(MemoryRead, OfPairsOfFewerBitsReadsWhatTheyStandFor) {
  at::manual_seed(4);
  for (const WeightType type : {WeightType::kBFloat16, WeightType::kInt8})
    for (int64_t N : {1, 7, 16, 100})
      for (int64_t D : {1, 14, 32, 65, 96}) {
        const at::Tensor query = at::randn({3, 2, D}) * std::pow(D, -0.5);
        const auto store = [&] { return stored_as(at::randn({3, 2, N + 4, D}), type); };
        const at::Tensor keys = store().narrow(2, 0, N), values = store().narrow(2, 3, N);
        const at::Tensor counts = at::tensor({int64_t{0}, N / 2, N});
        const MemoryReading actual = inspect_memory_read(query, keys, values, counts);
        const auto as_doubles = [&](const at::Tensor& pairs) {
          return as_floats(pairs, D).to(at::kDouble);
        };
        const MemoryReading expected = inspect_memory_read(query.to(at::kDouble), as_doubles(keys),
                                                           as_doubles(values), counts);
        EXPECT_LT(test::relative_error(actual.value.to(at::kDouble), expected.value), 1e-5);
        EXPECT_LT(test::relative_error(actual.weights.to(at::kDouble), expected.weights), 1e-5)
            << N << " pairs of " << D;
      }
}

TEST(MemoryRead, EmptyMemoryAndEmptyBatchGiveZero) {
  EXPECT_TRUE(memory_read(at::randn({2, 3, 4}), at::randn({2, 3, 0, 4}), at::randn({2, 3, 0, 4}))
                  .equal(at::zeros({2, 3, 4})));
  EXPECT_EQ(
      memory_read(at::randn({0, 3, 4}), at::randn({0, 3, 5, 4}), at::randn({0, 3, 5, 4})).numel(),
      0);
}

TEST(MemoryRead, RefusesBadArguments) {
  const at::Tensor query = at::randn({2, 3, 4}), pairs = at::randn({2, 3, 5, 4});
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

}  // namespace
}  // namespace tessera::ops
