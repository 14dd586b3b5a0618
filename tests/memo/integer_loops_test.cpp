// Every instruction set's loops against plain ones, exactly.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tessera/memo/cpu/correlation.h"
#include "tessera/memo/cpu/token_scores.h"
#include "tessera/memo/cpu/window_products.h"
#include "tests/memo/random_numbers.h"

namespace tessera::memo::cpu {
namespace {

using test::random_numbers;
using test::random_words;
using test::sign_at;

class IntegerLoopsTest : public testing::TestWithParam<simd::InstructionSet> {
 protected:
  RandomStream random_{11};
};

std::vector<simd::InstructionSet> runnable_sets() {
  std::vector<simd::InstructionSet> sets;
  for (const auto& build : sign_products.builds)
    if (build.set <= simd::instruction_set()) sets.push_back(build.set);
  return sets;
}

INSTANTIATE_TEST_SUITE_P(Sets, IntegerLoopsTest, testing::ValuesIn(runnable_sets()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(IntegerLoopsTest, SignTransposeMovesEveryBitOnce) {
  for (const int64_t count : {1, 63, 64, 65, 130})
    for (const int64_t panels : {1, 3, 8, 9}) {
      const auto rows = random_words(random_, count * panels);
      const int64_t groups = (count + 63) / 64;
      std::vector<uint64_t> columns(panels * groups * 64, ~uint64_t{0});
      sign_transpose({count, panels, rows.data(), columns.data()}, GetParam());
      for (int64_t p = 0; p < panels; ++p)
        for (int64_t g = 0; g < groups; ++g)
          for (int64_t c = 0; c < 64; ++c) {
            uint64_t expected = 0;
            for (int64_t n = 64 * g; n < std::min(count, 64 * g + 64); ++n)
              expected |= (rows[n * panels + p] >> c & 1) << (n - 64 * g);
            ASSERT_EQ(columns[(p * groups + g) * 64 + c], expected)
                << count << " " << panels << " " << p << " " << g << " " << c;
          }
    }
}

TEST_P(IntegerLoopsTest, SignProductsCountEqualAndDifferentSigns) {
  for (const int64_t pairs : {1, 64, 100})
    for (const int64_t row_panels : {1, 2})
      for (const int64_t column_panels : {1, 3}) {
        const int64_t rows = 64 * row_panels, columns = 64 * column_panels;
        const auto keys = random_words(random_, pairs * row_panels),
                   values = random_words(random_, pairs * column_panels);
        const int64_t group_words = (pairs + 63) / 64 * 64;
        std::vector<uint64_t> key_columns(row_panels * group_words),
            value_columns(column_panels * group_words);
        sign_transpose({pairs, row_panels, keys.data(), key_columns.data()}, GetParam());
        sign_transpose({pairs, column_panels, values.data(), value_columns.data()}, GetParam());
        auto entries = random_numbers<int32_t>(random_, rows * columns, -9, 9);
        const auto before = entries;
        for (const int32_t sign : {1, -1, 1})
          sign_products({pairs, row_panels, column_panels, key_columns.data(), value_columns.data(),
                         sign, entries.data()},
                        GetParam());
        for (int64_t i = 0; i < rows; i += 5)
          for (int64_t j = 0; j < columns; j += 3) {
            int64_t expected = before[i * columns + j];
            for (int64_t n = 0; n < pairs; ++n)
              expected +=
                  sign_at(keys.data(), n * rows + i) * sign_at(values.data(), n * columns + j);
            ASSERT_EQ(entries[i * columns + j], expected) << i << " " << j;
          }
      }
}

/// By the loop for entries of this type.
template <typename Entry, typename Loop>
void expect_exact_sums(const Loop& read, simd::InstructionSet set) {
  constexpr int64_t kMost = std::numeric_limits<Entry>::max();
  RandomStream random(11);
  for (const int64_t queries : {1, 2, 3, 4, 5})
    for (const int64_t rows : {1, 7, 8, 67})
      for (const int64_t columns : {1, 15, 64, 201}) {
        const auto keys = random_numbers<int8_t>(random, queries * rows, -128, 127);
        const auto entries = random_numbers<Entry>(random, rows * columns, -kMost, kMost);
        std::vector<float> values(queries * columns);
        read({queries, rows, columns, keys.data(), entries.data(), values.data()}, set);
        for (int64_t q = 0; q < queries; ++q)
          for (int64_t j = 0; j < columns; ++j) {
            int64_t sum = 0;
            for (int64_t i = 0; i < rows; ++i)
              sum += int64_t{keys[q * rows + i]} * entries[i * columns + j];
            ASSERT_EQ(values[q * columns + j], static_cast<float>(sum))
                << queries << " " << rows << " " << columns;
          }
      }
}

TEST_P(IntegerLoopsTest, CorrelationReadRoundsTheExactSumOnce) {
  expect_exact_sums<int32_t>(correlation_read, GetParam());
  expect_exact_sums<int16_t>(short_correlation_read, GetParam());
}

TEST_P(IntegerLoopsTest, DigitPlanesAddUpToTheEntries) {
  std::vector<int32_t> entries = {0, 1, -1, 63, 64, -64, -65, 8127, -8127, INT32_MAX, -INT32_MAX};
  for (const int32_t entry : random_numbers<int32_t>(random_, 2000, -INT32_MAX, INT32_MAX))
    entries.push_back(entry);
  const auto count = std::ssize(entries);
  std::vector<int8_t> digits(5 * count);
  digit_planes({count, 5, entries.data(), digits.data()}, GetParam());
  for (int64_t i = 0; i < count; ++i) {
    int64_t sum = 0;
    for (int64_t p = 4; p >= 0; --p) {
      const int64_t digit = digits[p * count + i];
      EXPECT_GE(digit, -64);
      EXPECT_LE(digit, 63);
      sum = 128 * sum + digit;
    }
    EXPECT_EQ(sum, entries[i]);
  }
}

TEST_P(IntegerLoopsTest, NibbleProductsAreThoseOfTheTable) {
  for (const int64_t queries : {1, 2, 3, 4, 5, 9})
    for (const int64_t rows : {1, 3, 4, 50})
      for (const int64_t width : {128, 384}) {
        const auto queried = random_numbers<int8_t>(random_, queries * width, -128, 127);
        const auto table = random_numbers<int8_t>(random_, rows * width, -7, 7);
        std::vector<uint8_t> packed(rows * width / 2);
        for (int64_t place = 0; place < rows * width; ++place) {
          const int64_t group = place / 128, within = place % 128;
          const int half = table[place] + 8;
          packed[group * 64 + within % 64] |= static_cast<uint8_t>(within < 64 ? half : half << 4);
        }
        std::vector<int32_t> sums;
        std::vector<float> scales, products(queries * rows);
        std::vector<float*> places;
        for (int64_t q = 0; q < queries; ++q) {
          const int8_t* query = &queried[q * width];
          sums.push_back(std::accumulate(query, query + width, 0));
          scales.push_back(0.5f + static_cast<float>(q));
          places.push_back(&products[q * rows]);
        }
        nibble_products({queries, rows, width, queried.data(), sums.data(), scales.data(),
                         packed.data(), places.data()},
                        GetParam());
        for (int64_t q = 0; q < queries; ++q)
          for (int64_t row = 0; row < rows; ++row) {
            int64_t sum = 0;
            for (int64_t c = 0; c < width; ++c)
              sum += int64_t{queried[q * width + c]} * table[row * width + c];
            ASSERT_EQ(places[q][row], scales[q] * static_cast<float>(sum))
                << queries << " " << rows << " " << width;
          }
      }
}

TEST_P(IntegerLoopsTest, WindowProductsAreScaledByTheLargest) {
  // Products 6, -2, 0, 8 of two parts: divided by 8, times 127: 95.25, -31.75, 0, 127.
  const std::vector<int8_t> hand = {2, 1, 0, -4, 3, -2, 5, -2};
  std::vector<int8_t> codes(4);
  window_products({1, 4, 2, 1, 1, hand.data(), codes.data()}, GetParam());
  EXPECT_EQ(codes, (std::vector<int8_t>{95, -32, 0, 127}));
  const std::vector<int8_t> zeros(8, 0);
  window_products({1, 4, 2, 1, 1, zeros.data(), codes.data()}, GetParam());
  EXPECT_EQ(codes, std::vector<int8_t>(4, 0));
}

TEST_P(IntegerLoopsTest, WindowProductsTakePartsAtTheirSteps) {
  for (const int64_t width : {1, 64, 70})
    for (const int64_t parts : {2, 4, 31})
      for (const int64_t next_step : {1, 2}) {
        const int64_t count = 5, part_step = 3;
        const auto rows = random_numbers<int8_t>(
            random_, ((count - 1) * next_step + (parts - 1) * part_step + 1) * width, -127, 127);
        std::vector<int8_t> codes(count * width);
        window_products({count, width, parts, next_step, part_step, rows.data(), codes.data()},
                        GetParam());
        for (int64_t n = 0; n < count; ++n) {
          std::vector<double> products(width, 1.0);
          double largest = 0;
          for (int64_t c = 0; c < width; ++c) {
            auto& product = products[c];
            for (int64_t m = 0; m < parts; ++m)
              product *= rows[(n * next_step + m * part_step) * width + c];
            largest = std::max(largest, std::abs(product));
          }
          const double scale = largest > 0 ? 127 / largest : 0;
          for (int64_t c = 0; c < width; ++c)
            ASSERT_EQ(codes[n * width + c], std::nearbyint(products[c] * scale));
        }
      }
}

TEST_P(IntegerLoopsTest, KeysAreRoundedAndCut) {
  const std::vector<int32_t> sums = {3, -3, 1000, -1000, 5, 7, 2, 254};
  const std::vector<double> scales = {0.5, 0.25};
  std::vector<int8_t> keys(8);
  key_rounding({2, 4, sums.data(), scales.data(), keys.data()}, GetParam());
  EXPECT_EQ(keys, (std::vector<int8_t>{2, -2, 127, -127, 1, 2, 0, 64}));  // ties to even
}

TEST_P(IntegerLoopsTest, HadamardScoresAreProductsWithEveryCode) {
  for (const auto& [width, block] : {std::pair<int64_t, int64_t>{64, 64},
                                     {192, 64},
                                     {128, 128},
                                     {768, 256},
                                     {1024, 512},
                                     {2048, 1024}})
    for (const int64_t tokens : {int64_t{1}, block - 1, block, 2 * block + 5}) {
      const int64_t count = 2, blocks = (tokens + block - 1) / block;
      const auto whole = random_numbers<int32_t>(random_, count * width, -500, 500);
      const std::vector<float> values(whole.begin(), whole.end());
      const auto masks = random_words(random_, blocks * width / 64);
      std::vector<float> scores(count * tokens);
      std::vector<float*> rows = {scores.data(), scores.data() + tokens};
      hadamard_scores(
          {count, width, block, tokens, values.data(), masks.data(), 0.25f, rows.data()},
          GetParam());
      for (int64_t n = 0; n < count; ++n)
        for (int64_t y = 0; y < tokens; y += y < 8 ? 1 : 37) {
          int64_t sum = 0;
          for (int64_t c = 0; c < width; ++c) {
            const int64_t hadamard =
                __builtin_popcountll(static_cast<uint64_t>(y % block & c % block)) % 2 == 0 ? 1
                                                                                            : -1;
            sum += whole[n * width + c] * hadamard *
                   sign_at(masks.data() + y / block * (width / 64), c);
          }
          ASSERT_EQ(rows[n][y], 0.25f * static_cast<float>(sum))
              << width << " " << block << " " << tokens << " " << y;
        }
    }
}

}  // namespace
}  // namespace tessera::memo::cpu
