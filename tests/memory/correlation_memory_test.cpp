#include "tessera/memory/correlation_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"

namespace tessera {
namespace {

// Small whole numbers: sums of their products are exact in float, whatever their order.
at::Tensor whole_numbers(at::IntArrayRef sizes, uint64_t seed) {
  return at::randint(-3, 4, sizes, at::make_generator<at::CPUGeneratorImpl>(seed)).to(at::kFloat);
}

TEST(CorrelationMemory, IsTheSumOfOuterProducts) {
  CorrelationMemory memory(2, 3);
  memory.store(at::tensor({1.f, 2.f}), at::tensor({5.f, 0.f, 1.f}));
  memory.store(at::tensor({0.f, 1.f}), at::tensor({1.f, 1.f, 0.f}));
  EXPECT_TRUE(at::equal(memory.matrix(), at::tensor({5.f, 0.f, 1.f, 11.f, 1.f, 2.f}).view({2, 3})));
  EXPECT_TRUE(at::equal(memory.retrieve(at::tensor({2.f, -1.f})), at::tensor({-1.f, -1.f, 0.f})));
}

TEST(CorrelationMemory, OneHotKeysGiveTheirValuesBack) {
  CorrelationMemory memory(4, 3);
  const at::Tensor keys = at::eye(4), values = whole_numbers({4, 3}, 1);
  memory.store(keys, values);
  EXPECT_TRUE(at::equal(memory.retrieve(keys), values));
}

TEST(CorrelationMemory, ABatchIsItsPairsOneByOneInAnyOrder) {
  const at::Tensor keys = whole_numbers({7, 5}, 2), values = whole_numbers({7, 4}, 3);
  CorrelationMemory together(5, 4), apart(5, 4);
  together.store(keys, values);
  for (int64_t i = 6; i >= 0; --i) apart.store(keys[i], values[i]);
  EXPECT_TRUE(at::equal(together.matrix(), apart.matrix()));
  const at::Tensor queries = whole_numbers({3, 5}, 4);
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(at::equal(together.retrieve(queries)[i], apart.retrieve(queries[i])));
}

TEST(CorrelationMemory, ForgettingTakesAwayWhatWasStored) {
  const at::Tensor keys = whole_numbers({6, 5}, 5), values = whole_numbers({6, 5}, 6);
  CorrelationMemory memory(5, 5), without(5, 5);
  memory.store(keys, values);
  memory.forget(keys.slice(0, 2, 4), values.slice(0, 2, 4));
  memory.forget(keys[5], values[5]);
  without.store(keys.slice(0, 0, 2), values.slice(0, 0, 2));
  without.store(keys[4], values[4]);
  EXPECT_TRUE(at::equal(memory.matrix(), without.matrix()));
}

TEST(CorrelationMemory, MergingIsStoringBoth) {
  const at::Tensor keys = whole_numbers({6, 3}, 7), values = whole_numbers({6, 2}, 8);
  CorrelationMemory all(3, 2), first(3, 2), second(3, 2);
  all.store(keys, values);
  first.store(keys.slice(0, 0, 4), values.slice(0, 0, 4));
  second.store(keys.slice(0, 4), values.slice(0, 4));
  first.merge(second);
  EXPECT_TRUE(at::equal(first.matrix(), all.matrix()));
}

TEST(CorrelationMemory, CopiesShareNothing) {
  CorrelationMemory memory(2, 2);
  CorrelationMemory copy = memory;
  copy.store(at::ones({2}), at::ones({2}));
  EXPECT_EQ(memory.matrix().sum().item<float>(), 0);
  memory = copy;
  copy.store(at::ones({2}), at::ones({2}));
  EXPECT_EQ(memory.matrix().sum().item<float>(), 4);
}

TEST(CorrelationMemory, NothingStoredReadsAsZero) {
  CorrelationMemory memory(3, 2, at::kDouble);
  memory.store(at::zeros({0, 3}, at::kDouble), at::zeros({0, 2}, at::kDouble));
  EXPECT_TRUE(
      at::equal(memory.retrieve(at::ones({4, 3}, at::kDouble)), at::zeros({4, 2}, at::kDouble)));
  EXPECT_EQ(memory.retrieve(at::zeros({0, 3}, at::kDouble)).sizes(), at::IntArrayRef({0, 2}));
}

TEST(CorrelationMemory, StoresItsOwnRows) {
  CorrelationMemory memory(at::tensor({1.0F, 2.0F, 3.0F, 4.0F}).view({2, 2}));
  memory.store(memory.matrix()[0], memory.matrix()[1]);  // [1, 2]^T [3, 4]
  EXPECT_TRUE(at::equal(memory.matrix(), at::tensor({4.0F, 6.0F, 9.0F, 12.0F}).view({2, 2})));
  memory.forget(memory.matrix(), at::ones({2, 2}, memory.matrix().options()));
  EXPECT_TRUE(at::equal(memory.matrix(), at::tensor({-9.0F, -7.0F, -9.0F, -6.0F}).view({2, 2})));
}

TEST(CorrelationMemory, RefusesWhatDoesNotFitAndStaysAsItWas) {
  EXPECT_THROW(CorrelationMemory(0, 2), UsageError);
  EXPECT_THROW(CorrelationMemory(at::ones({2})), UsageError);
  EXPECT_THROW(CorrelationMemory(at::ones({2, 2}, at::kLong)), UsageError);
  EXPECT_THROW(CorrelationMemory(2, 2, at::kLong), UsageError);
  CorrelationMemory memory(3, 2);
  const at::Tensor keys = at::ones({4, 3}), values = at::ones({4, 2});
  memory.store(keys, values);
  const at::Tensor before = memory.matrix().clone();
  EXPECT_THROW(memory.store(values, keys), UsageError);
  EXPECT_THROW(memory.store(keys, values.slice(0, 1)), UsageError);
  EXPECT_THROW(memory.store(keys[0], values), UsageError);
  EXPECT_THROW(memory.forget(keys.to(at::kDouble), values), UsageError);
  EXPECT_THROW(memory.store(at::Tensor(), values), UsageError);
  EXPECT_THROW(memory.store(keys, at::Tensor()), UsageError);
  EXPECT_THROW(memory.retrieve(at::Tensor()), UsageError);
  EXPECT_THROW(memory.retrieve(values), UsageError);
  EXPECT_THROW(memory.merge(CorrelationMemory(2, 3)), UsageError);
  EXPECT_TRUE(at::equal(memory.matrix(), before));
}

}  // namespace
}  // namespace tessera
