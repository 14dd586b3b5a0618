#include "tessera/ops/cpu/integer/correlation_read.h"

#include <omp.h>

#include "tessera/ops/cpu/integer/integer_vector.h"
#include "tessera/ops/cpu/sequence.h"

namespace tessera::cpu::TESSERA_ISA {
namespace {

typedef double Doubles __attribute__((vector_size(TESSERA_VECTOR_BYTES)));
typedef int32_t HalfIntegers __attribute__((vector_size(TESSERA_VECTOR_BYTES / 2)));
typedef int32_t UnalignedHalfIntegers
    __attribute__((vector_size(TESSERA_VECTOR_BYTES / 2), aligned(4), may_alias));

constexpr int64_t kDoubles = TESSERA_VECTOR_BYTES / 8;
constexpr int64_t kRows = 8;        // read together, so that sums come and go less often
constexpr int64_t kColumns = 2048;  // whose sums stay in the second-level cache
constexpr int64_t kQueries = 4;

struct Sums {
  alignas(64) double of[kQueries][kColumns];
};

/// Adds `rows` rows of entries, each times its number in every query, to the sums. Doubles hold
/// them exactly: 2^31 times 2^7 times 2^15 rows is 2^53.
template <int64_t queries, int64_t rows>
void add_rows(const CorrelationRead& f, const int8_t* keys, int64_t row, int64_t column,
              int64_t count, Sums& sums) {
  double factors[queries][rows];
  for (int64_t q = 0; q < queries; ++q)
    for (int64_t r = 0; r < rows; ++r) factors[q][r] = keys[q * f.rows + row + r];
  const int32_t* entries = f.entries + row * f.columns + column;
  int64_t j = 0;
  for (; j + kDoubles <= count; j += kDoubles) {
    Doubles total[queries];
    for (int64_t q = 0; q < queries; ++q)
      total[q] = *reinterpret_cast<const Doubles*>(&sums.of[q][j]);
    for (int64_t r = 0; r < rows; ++r) {
      const HalfIntegers whole =
          *reinterpret_cast<const UnalignedHalfIntegers*>(entries + r * f.columns + j);
      const Doubles entry = __builtin_convertvector(whole, Doubles);
      for (int64_t q = 0; q < queries; ++q) total[q] += factors[q][r] * entry;
    }
    for (int64_t q = 0; q < queries; ++q) *reinterpret_cast<Doubles*>(&sums.of[q][j]) = total[q];
  }
  for (; j < count; ++j)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t q = 0; q < queries; ++q)
        sums.of[q][j] += factors[q][r] * entries[r * f.columns + j];
}

template <int64_t queries>
void read_columns(const CorrelationRead& f, int64_t query, int64_t column, int64_t count) {
  const int8_t* keys = f.keys + query * f.rows;
  Sums sums;
  for (int64_t q = 0; q < queries; ++q)
    for (int64_t j = 0; j < count; ++j) sums.of[q][j] = 0;
  int64_t row = 0;
  for (; row + kRows <= f.rows; row += kRows)
    add_rows<queries, kRows>(f, keys, row, column, count, sums);
  for (; row < f.rows; ++row) add_rows<queries, 1>(f, keys, row, column, count, sums);
  for (int64_t q = 0; q < queries; ++q)
    for (int64_t j = 0; j < count; ++j)
      f.values[(query + q) * f.columns + column + j] = static_cast<float>(sums.of[q][j]);
}

void read_columns(const CorrelationRead& f, int64_t query, int64_t queries, int64_t column,
                  int64_t count) {
  switch (queries) {
    case 1:
      return read_columns<1>(f, query, column, count);
    case 2:
      return read_columns<2>(f, query, column, count);
    case 3:
      return read_columns<3>(f, query, column, count);
    default:
      return read_columns<kQueries>(f, query, column, count);
  }
}

}  // namespace

void correlation_read(const CorrelationRead& f) {
  const int64_t share = (f.columns + omp_get_max_threads() - 1) / omp_get_max_threads();
  const int64_t width = smaller(kColumns, (share + 63) / 64 * 64);
#pragma omp parallel for schedule(static) if (f.rows * f.columns >= kWorthThreads)
  for (int64_t column = 0; column < f.columns; column += width)
    for (int64_t query = 0; query < f.queries; query += kQueries)
      read_columns(f, query, smaller(kQueries, f.queries - query), column,
                   smaller(width, f.columns - column));
}

}  // namespace tessera::cpu::TESSERA_ISA
