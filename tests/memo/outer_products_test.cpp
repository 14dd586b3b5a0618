#include "tessera/memo/detail/outer_products.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/memo/random_numbers.h"

namespace tessera::memo {
namespace {

using test::random_numbers;

/// c [m, n] of a [m, k] b [k, n] plus c.
std::vector<int32_t> plain_product(int64_t m, int64_t n, int64_t k, const std::vector<int8_t>& a,
                                   const std::vector<int8_t>& b, std::vector<int32_t> c) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t s = 0; s < k; ++s) c[i * n + j] += int{a[i * k + s]} * b[s * n + j];
  return c;
}

std::vector<int8_t> transposed(int64_t rows, int64_t columns, const std::vector<int8_t>& a) {
  std::vector<int8_t> result(a.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) result[j * rows + i] = a[i * columns + j];
  return result;
}

// Only numbers at their limits: the largest sums that processors without a dot product of bytes
// must hold in 16 bits.
TEST(ByteProducts, AreExactAtTheirLimits) {
  RandomStream random(1);
  for (const int64_t m : {1, 2, 7, 40})
    for (const int64_t n : {1, 2, 33, 100})
      for (const int64_t k : {0, 1, 2, 3, 64, 129}) {
        std::vector<int8_t> a(m * k), b(k * n);
        for (auto& number : a) number = random.below(2) != 0 ? 127 : -128;
        for (auto& number : b) number = random.below(2) != 0 ? kRightLimit : -kRightLimit;
        const std::vector<int32_t> zeros(m * n, 0), large(zeros.size(), 1 << 30);
        std::vector<int32_t> c = large;
        multiply_bytes(m, n, k, a.data(), k, b.data(), n, true, c.data(), n);
        EXPECT_EQ(c, plain_product(m, n, k, a, b, large)) << m << " " << n << " " << k;
        multiply_bytes(m, n, k, a.data(), k, b.data(), n, false, c.data(), n);
        EXPECT_EQ(c, plain_product(m, n, k, a, b, zeros)) << m << " " << n << " " << k;
        c = large;
        const auto columns = transposed(m, k, a);
        add_transposed_product(m, n, k, columns.data(), m, b.data(), n, c.data(), n);
        EXPECT_EQ(c, plain_product(m, n, k, a, b, large)) << m << " " << n << " " << k;
      }
}

TEST(ByteProducts, ReadRowsThatLieApart) {
  // [1 2] [5 6 7]   [21 24 27]
  // [3 4] [8 9 10] = [47 54 61]
  const std::vector<int8_t> a = {1, 2, 99, 3, 4, 99}, b = {5, 6, 7, 99, 8, 9, 10, 99};
  std::vector<int32_t> c(10, -1);
  multiply_bytes(2, 3, 2, a.data(), 3, b.data(), 4, false, c.data(), 5);
  EXPECT_EQ(c, (std::vector<int32_t>{21, 24, 27, -1, -1, 47, 54, 61, -1, -1}));
}

TEST(OuterProducts, TakeValuesOfAllEightBits) {
  const std::vector<int8_t> keys = {-128, 127}, values = {-128, 127, -65, 64};  // one pair
  std::vector<int32_t> entries(8, 3);
  add_outer_products(keys, values, 2, 4, 1, entries.data());
  EXPECT_EQ(entries,
            (std::vector<int32_t>{16387, -16253, 8323, -8189, -16253, 16132, -8252, 8131}));
  add_outer_products(keys, values, 2, 4, -1, entries.data());
  EXPECT_EQ(entries, std::vector<int32_t>(8, 3));
}

// Few queries take passes over the entries, many go by products of digits: the same bits.
TEST(OuterProducts, ReadTheSameForFewAndMany) {
  RandomStream random(2);
  for (const int64_t most :
       {int64_t{63}, int64_t{64}, int64_t{8127}, int64_t{8128}, int64_t{INT32_MAX}})
    for (const int64_t K : {1, 64, 300}) {
      const int64_t D = 70, n = 21;
      auto entries = random_numbers<int32_t>(random, K * D, -most, most);
      entries[0] = static_cast<int32_t>(most);
      entries.back() = static_cast<int32_t>(-most);
      const auto queries = random_numbers<int8_t>(random, n * K, -127, 127);
      std::vector<float> many(n * D), one(D);
      read_outer_products(queries, entries.data(), K, D, many.data());
      for (int64_t q = 0; q < n; ++q) {
        const std::span<const int8_t> query(&queries[q * K], K);
        read_outer_products(query, entries.data(), K, D, one.data());
        for (int64_t j = 0; j < D; ++j) {
          int64_t sum = 0;
          for (int64_t i = 0; i < K; ++i) sum += int64_t{query[i]} * entries[i * D + j];
          ASSERT_EQ(many[q * D + j], static_cast<float>(sum)) << most;
          ASSERT_EQ(one[j], static_cast<float>(sum)) << most;
        }
      }
    }
}

TEST(OuterProducts, NothingIsNothing) {
  std::vector<int32_t> entries(64 * 64, 5);
  add_outer_products(SignRows{{}, 64}, SignRows{{}, 64}, 1, entries.data());
  add_outer_products(std::span<const int8_t>{}, std::span<const int8_t>{}, 64, 64, 1,
                     entries.data());
  EXPECT_EQ(entries, std::vector<int32_t>(64 * 64, 5));
  read_outer_products({}, entries.data(), 64, 64, nullptr);
}

}  // namespace
}  // namespace tessera::memo
