#include "tessera/memo/exact_correlation_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/base/error.h"
#include "tests/memo/random_numbers.h"

namespace tessera::memo {
namespace {

using test::random_numbers;
using test::random_words;
using test::sign_at;

/// A memory whose entries are all `entry`.
ExactCorrelationMemory filled(int64_t rows, int64_t columns, int32_t entry) {
  const std::vector<int32_t> entries(rows * columns, entry);
  return ExactCorrelationMemory::from_bytes(rows, columns, 32, std::as_bytes(std::span(entries)));
}

TEST(ExactCorrelationMemory, HandExample) {
  ExactCorrelationMemory memory(2, 3);
  const std::vector<int8_t> keys = {1, 2, -3, 4}, values = {5, 0, -1, 2, 1, 0};
  memory.store(keys, values);
  // [1 2]^T [5 0 -1] + [-3 4]^T [2 1 0]
  const std::vector<int64_t> expected = {-1, -3, -1, 18, 4, -2};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(memory.entry(i / 3, i % 3), expected[i]) << i;
  std::vector<float> read(3);
  memory.retrieve(std::vector<int8_t>{1, 2}, read);
  EXPECT_EQ(read, (std::vector<float>{35, 5, -5}));
  EXPECT_DOUBLE_EQ(memory.energy(), (1 + 9 + 1 + 324 + 16 + 4) / 6.0);
  memory.forget(keys, values);
  EXPECT_EQ(memory.bytes(), ExactCorrelationMemory(2, 3).bytes());
}

TEST(ExactCorrelationMemory, SignPairsAreTheirProducts) {
  RandomStream random(3);
  for (const int64_t count : {0, 1, 3, 63, 64, 65, 200})
    for (const int64_t rows : {64, 192})
      for (const int64_t columns : {64, 128, 320}) {
        const auto keys = random_words(random, count * rows / 64);
        const auto values = random_words(random, count * columns / 64);
        ExactCorrelationMemory memory(rows, columns);
        memory.store(SignRows{keys, rows}, SignRows{values, columns});
        for (int64_t i = 0; i < rows; i += 13)
          for (int64_t j = 0; j < columns; j += 5) {
            int64_t expected = 0;
            for (int64_t n = 0; n < count; ++n)
              expected +=
                  sign_at(keys.data(), n * rows + i) * sign_at(values.data(), n * columns + j);
            ASSERT_EQ(memory.entry(i, j), expected) << count << " " << i << " " << j;
          }
        memory.forget(SignRows{keys, rows}, SignRows{values, columns});
        EXPECT_EQ(memory.energy(), 0);
      }
}

TEST(ExactCorrelationMemory, BytePairsAreTheirProducts) {
  RandomStream random(4);
  for (const int64_t count : {0, 1, 2, 5, 64, 131})
    for (const int64_t rows : {1, 7, 64, 130})
      for (const int64_t columns : {1, 9, 64, 97}) {
        const auto keys = random_numbers<int8_t>(random, count * rows);
        const auto values = random_numbers<int8_t>(random, count * columns);
        ExactCorrelationMemory memory(rows, columns);
        memory.store(keys, values);
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) {
            int64_t expected = 0;
            for (int64_t n = 0; n < count; ++n)
              expected += int64_t{keys[n * rows + i]} * values[n * columns + j];
            ASSERT_EQ(memory.entry(i, j), expected) << count << " " << i << " " << j;
          }
      }
}

TEST(ExactCorrelationMemory, HoldsTheSameInAnyOrderAndBatching) {
  RandomStream random(5);
  const int64_t d = 64, count = 40;
  const auto keys = random_numbers<int8_t>(random, count * d),
             values = random_numbers<int8_t>(random, count * d);
  const auto row = [&](const std::vector<int8_t>& all, int64_t first, int64_t rows) {
    return std::span(all).subspan(first * d, rows * d);
  };
  ExactCorrelationMemory at_once(d, d), backwards(d, d), other(d, d);
  at_once.store(keys, values);
  for (int64_t n = count - 1; n >= 20; --n) backwards.store(row(keys, n, 1), row(values, n, 1));
  other.store(row(keys, 3, 17), row(values, 3, 17));
  other.store(row(keys, 0, 3), row(values, 0, 3));
  other.store(row(keys, 30, 5), row(values, 30, 5));
  backwards.merge(other);
  backwards.forget(row(keys, 30, 5), row(values, 30, 5));
  EXPECT_EQ(at_once.bytes(), backwards.bytes());
  at_once.forget(keys, values);
  EXPECT_EQ(at_once.bytes(), ExactCorrelationMemory(d, d).bytes());
}

/// No pairs give such entries, but a file from elsewhere may have them.
TEST(ExactCorrelationMemory, KeepsEntriesThatNoPairsGive) {
  const std::vector<int64_t> entries(4, INT64_MIN);
  auto memory = ExactCorrelationMemory::from_bytes(2, 2, 64, std::as_bytes(std::span(entries)));
  const std::vector<int8_t> key = {0, 1}, value = {1, 0};
  memory.store(key, value);
  EXPECT_EQ(memory.bits(), 64);
  EXPECT_EQ(memory.entry(0, 0), INT64_MIN);
  EXPECT_EQ(memory.entry(1, 0), INT64_MIN + 1);
  memory.forget(key, value);
  memory.forget(key, value);
  EXPECT_EQ(memory.entry(1, 0), INT64_MAX);
  std::vector<float> read(2);
  memory.retrieve(std::vector<int8_t>{3, 0}, read);
  EXPECT_EQ(read, std::vector<float>(2, -3 * 0x1p63f));
}

TEST(ExactCorrelationMemory, WidensBeforeAnEntryOverflowsAndNarrowsAfterwards) {
  const std::vector<int8_t> key = {127, 0}, value = {127, -127};
  ExactCorrelationMemory memory = filled(2, 2, INT32_MAX - 127 * 127);
  memory.store(key, value);
  EXPECT_EQ(memory.bits(), 32);
  EXPECT_EQ(memory.entry(0, 0), INT32_MAX);
  memory.store(key, value);
  EXPECT_EQ(memory.bits(), 64);
  EXPECT_EQ(memory.entry(0, 0), int64_t{INT32_MAX} + 127 * 127);
  EXPECT_EQ(memory.entry(1, 1), INT32_MAX - 127 * 127);
  std::vector<float> read(2);
  memory.retrieve(std::vector<int8_t>{1, 0}, read);
  EXPECT_EQ(read[0], static_cast<float>(int64_t{INT32_MAX} + 127 * 127));
  memory.forget(key, value);
  memory.forget(key, value);
  EXPECT_EQ(memory.bits(), 32);
  EXPECT_EQ(memory.bytes(), filled(2, 2, INT32_MAX - 127 * 127).bytes());
}

TEST(ExactCorrelationMemory, MergeWidensToo) {
  ExactCorrelationMemory memory = filled(2, 2, INT32_MAX);
  memory.merge(filled(2, 2, INT32_MAX));
  EXPECT_EQ(memory.bits(), 64);
  EXPECT_EQ(memory.entry(1, 0), int64_t{2} * INT32_MAX);
  memory.merge(memory);
  EXPECT_EQ(memory.entry(0, 1), int64_t{4} * INT32_MAX);
  ExactCorrelationMemory opposite = filled(2, 2, -INT32_MAX);
  for (int i = 0; i < 4; ++i) memory.merge(opposite);
  EXPECT_EQ(memory.bytes(), ExactCorrelationMemory(2, 2).bytes());
}

TEST(ExactCorrelationMemory, BytesGiveTheSameMemoryBack) {
  ExactCorrelationMemory memory = filled(4, 4, INT32_MAX);
  memory.store(std::vector<int8_t>{1, 2, 3, 4}, std::vector<int8_t>{5, 6, 7, 8});
  ASSERT_EQ(memory.bits(), 64);
  ExactCorrelationMemory again =
      ExactCorrelationMemory::from_bytes(4, 4, memory.bits(), memory.bytes());
  EXPECT_EQ(again.bytes(), memory.bytes());
  ExactCorrelationMemory fork = again;
  fork.forget(std::vector<int8_t>{1, 2, 3, 4}, std::vector<int8_t>{5, 6, 7, 8});
  EXPECT_EQ(again.bytes(), memory.bytes());
  EXPECT_NE(fork.bytes(), memory.bytes());
}

TEST(ExactCorrelationMemory, OfPackedShortNumbersIsTheSame) {
  RandomStream random(8);
  constexpr int64_t kRows = 70, kColumns = 37;  // more than a vector, and not whole ones
  ExactCorrelationMemory memory(kRows, kColumns);
  memory.store(random_numbers<int8_t>(random, kRows), random_numbers<int8_t>(random, kColumns));
  const Packing packing = memory.packing();
  ASSERT_LE(packing.most, INT16_MAX);
  ExactCorrelationMemory packed =
      ExactCorrelationMemory::from_packed(kRows, kColumns, packing, memory.packed(packing));
  const ExactCorrelationMemory unwritten = packed;
  EXPECT_EQ(packed.bits(), 32);
  EXPECT_EQ(packed.bytes(), memory.bytes());
  EXPECT_EQ(packed.bytes(3, 2), ExactCorrelationMemory(packed).bytes(3, 2));
  EXPECT_EQ(packed.energy(), memory.energy());
  EXPECT_EQ(packed.packing(), packing);
  for (const int64_t n : {1, 3, 4, 40}) {  // 40: by planes
    const auto queries = random_numbers<int8_t>(random, n * kRows);
    std::vector<float> read(n * kColumns), expected = read;
    packed.retrieve(queries, read);
    memory.retrieve(queries, expected);
    EXPECT_EQ(read, expected) << n;
  }
  const auto key = random_numbers<int8_t>(random, kRows),
             value = random_numbers<int8_t>(random, kColumns);
  for (ExactCorrelationMemory* written : {&memory, &packed}) {
    written->store(key, value);
    written->merge(unwritten);
  }
  EXPECT_EQ(packed.bytes(), memory.bytes());
  packed = unwritten;
  packed.merge(packed);
  EXPECT_EQ(packed.entry(1, 2), 2 * unwritten.entry(1, 2));
}

/// What packed() takes for each number, after it gave the same memory back.
int packed_width(const std::vector<int64_t>& entries) {
  const int64_t count = std::ssize(entries);
  const bool narrow =
      std::ranges::all_of(entries, [](int64_t entry) { return std::abs(entry) <= INT32_MAX; });
  ExactCorrelationMemory memory =
      ExactCorrelationMemory::from_bytes(1, count, 64, std::as_bytes(std::span(entries)));
  if (narrow) memory.merge(ExactCorrelationMemory(1, count));  // goes back to 32 bits
  EXPECT_EQ(memory.bits(), narrow ? 32 : 64);
  const Packing packing = memory.packing();
  const auto words = memory.packed(packing);
  EXPECT_EQ(std::ssize(words), packing.words(count));
  EXPECT_EQ(ExactCorrelationMemory::from_packed(1, count, packing, words).bytes(), memory.bytes());
  return packing.width();
}

TEST(ExactCorrelationMemory, PacksNumbersIntoAsFewBitsAsTheyNeed) {
  EXPECT_EQ(packed_width({0, 0, 0}), 0);
  EXPECT_EQ(packed_width({-7}), 0);
  EXPECT_EQ(packed_width({-3, 4, 2}), 3);
  EXPECT_EQ(packed_width({-3, 5, 1, -1}), 3) << "all odd: steps of 2 to 4";
  EXPECT_EQ(packed_width({-4, 4, 0}), 3) << "all even";
  EXPECT_EQ(packed_width({INT32_MAX, -INT32_MAX, 0, 5}), 32);
  EXPECT_EQ(packed_width({int64_t{1} << 56, 1, -1}), 64);
  EXPECT_EQ(packed_width({int64_t{1} << 62, -(int64_t{1} << 62), 3}), 64);
  RandomStream random(4);
  for (int width = 1; width < 57; ++width) {
    std::vector<int64_t> entries(131);
    for (int64_t& entry : entries)
      entry = static_cast<int64_t>(random() >> (64 - width)) - (int64_t{1} << (width - 1));
    entries[0] = -(int64_t{1} << (width - 1));
    entries[1] = (int64_t{1} << (width - 1)) - 1;
    EXPECT_EQ(packed_width(entries), width);
  }
}

TEST(ExactCorrelationMemory, RefusesWordsThatAreNotOfItsSize) {
  const std::vector<uint64_t> words(2);
  EXPECT_NO_THROW(ExactCorrelationMemory::from_packed(2, 2, {0, 7, 1}, words));
  for (const Packing packing : {Packing{0, 7, 3}, Packing{0, 7, 0}, Packing{7, 0, 1}})
    EXPECT_THROW(ExactCorrelationMemory::from_packed(2, 2, packing, words), UsageError);
  EXPECT_THROW(ExactCorrelationMemory::from_packed(2, 2, {0, 0, 1}, words), UsageError);
  EXPECT_THROW(ExactCorrelationMemory::from_packed(20, 20, {0, 7, 1}, words), UsageError);
}

TEST(ExactCorrelationMemory, RefusesAndStaysAsItWas) {
  EXPECT_THROW(ExactCorrelationMemory(0, 3), UsageError);
  EXPECT_THROW(ExactCorrelationMemory(3, -1), UsageError);
  EXPECT_THROW(ExactCorrelationMemory(int64_t{1} << 40, 1), UsageError);
  ExactCorrelationMemory memory = filled(64, 64, 7);
  const auto before = memory.bytes();
  const std::vector<int8_t> row(64, 1), short_row(63, 1), two_rows(128, 1);
  EXPECT_THROW(memory.store(short_row, row), UsageError);
  EXPECT_THROW(memory.forget(two_rows, row), UsageError);
  const std::vector<uint64_t> word(1), words(2);
  EXPECT_THROW(memory.store(SignRows{words, 128}, SignRows{word, 64}), UsageError);
  EXPECT_THROW(memory.store(SignRows{words, 64}, SignRows{word, 64}), UsageError);
  const std::vector<uint64_t> three(3);
  ExactCorrelationMemory wide(128, 128);
  EXPECT_THROW(wide.store(SignRows{three, 128}, SignRows{three, 128}), UsageError);
  EXPECT_THROW(memory.merge(ExactCorrelationMemory(64, 63)), UsageError);
  std::vector<float> read(64);
  EXPECT_THROW(memory.retrieve(two_rows, read), UsageError);
  for (const int64_t beyond : {-1, 64}) {
    EXPECT_THROW(memory.entry(beyond, 0), UsageError);
    EXPECT_THROW(memory.entry(0, beyond), UsageError);
  }
  EXPECT_THROW(memory.bytes(60, 5), UsageError);
  EXPECT_THROW(memory.bytes(-1, 1), UsageError);
  EXPECT_THROW(memory.bytes(0, -1), UsageError);
  EXPECT_THROW(memory.bytes(1, INT64_MAX), UsageError);
  EXPECT_TRUE(memory.bytes(64, 0).empty());
  EXPECT_EQ(memory.bytes(), before);
  const auto open = [](int64_t rows, int64_t columns, int bits, size_t bytes) {
    return ExactCorrelationMemory::from_bytes(rows, columns, bits, std::vector<std::byte>(bytes));
  };
  EXPECT_THROW(open(4, 4, 32, 68), UsageError);
  EXPECT_THROW(open(4, 4, 16, 64), UsageError);
  EXPECT_THROW(open(-4, -4, 32, 64), UsageError);
}

}  // namespace
}  // namespace tessera::memo
