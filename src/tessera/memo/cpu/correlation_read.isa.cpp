#include "tessera/memo/cpu/correlation_read.h"

#include <omp.h>

#include "tessera/simd/integer_vector.h"
#include "tessera/simd/scratch.h"
#include "tessera/simd/threads.h"

namespace tessera::memo::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;
namespace {

typedef double Doubles __attribute__((vector_size(TESSERA_VECTOR_BYTES)));
typedef int32_t HalfIntegers __attribute__((vector_size(TESSERA_VECTOR_BYTES / 2)));
typedef int32_t UnalignedHalfIntegers
    __attribute__((vector_size(TESSERA_VECTOR_BYTES / 2), aligned(4), may_alias));

constexpr int64_t kDoubles = TESSERA_VECTOR_BYTES / 8;
constexpr int64_t kRows = 8;        // read together, so that sums come and go less often
constexpr int64_t kBlockRows = 32;  // that stay in the second-level cache for all queries
constexpr int64_t kColumns = 2048;  // of them, and of the sums
constexpr int64_t kQueries = 4;     // whose sums are in registers

/// Adds `rows` rows of entries, each times its number in every query, to the sums. Doubles hold
/// them exactly: 2^31 times 2^7 times 2^15 rows is 2^53.
template <int64_t queries, int64_t rows>
void add_rows(const CorrelationRead& f, const int8_t* keys, int64_t row, int64_t column,
              int64_t count, double* sums) {
  double factors[queries][rows];
  for (int64_t q = 0; q < queries; ++q)
    for (int64_t r = 0; r < rows; ++r) factors[q][r] = keys[q * f.rows + row + r];
  const int32_t* entries = f.entries + row * f.columns + column;
  int64_t j = 0;
  for (; j + kDoubles <= count; j += kDoubles) {
    Doubles total[queries];
    for (int64_t q = 0; q < queries; ++q)
      total[q] = *reinterpret_cast<const Doubles*>(sums + q * kColumns + j);
    for (int64_t r = 0; r < rows; ++r) {
      const HalfIntegers whole =
          *reinterpret_cast<const UnalignedHalfIntegers*>(entries + r * f.columns + j);
      const Doubles entry = __builtin_convertvector(whole, Doubles);
      for (int64_t q = 0; q < queries; ++q) total[q] += factors[q][r] * entry;
    }
    for (int64_t q = 0; q < queries; ++q)
      *reinterpret_cast<Doubles*>(sums + q * kColumns + j) = total[q];
  }
  for (; j < count; ++j)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t q = 0; q < queries; ++q)
        sums[q * kColumns + j] += factors[q][r] * entries[r * f.columns + j];
}

template <int64_t queries>
void add_block(const CorrelationRead& f, int64_t query, int64_t row, int64_t rows, int64_t column,
               int64_t count, double* sums) {
  const int8_t* keys = f.keys + query * f.rows;
  const int64_t end = row + rows;
  for (; row + kRows <= end; row += kRows)
    add_rows<queries, kRows>(f, keys, row, column, count, sums);
  for (; row < end; ++row) add_rows<queries, 1>(f, keys, row, column, count, sums);
}

void add_block(const CorrelationRead& f, int64_t query, int64_t queries, int64_t row, int64_t rows,
               int64_t column, int64_t count, double* sums) {
  switch (queries) {
    case 1:
      return add_block<1>(f, query, row, rows, column, count, sums);
    case 2:
      return add_block<2>(f, query, row, rows, column, count, sums);
    case 3:
      return add_block<3>(f, query, row, rows, column, count, sums);
    default:
      return add_block<kQueries>(f, query, row, rows, column, count, sums);
  }
}

/// sums [queries, kColumns]: room to work in.
void read_columns(const CorrelationRead& f, int64_t column, int64_t count, double* sums) {
  for (int64_t i = 0; i < f.queries * kColumns; ++i) sums[i] = 0;
  for (int64_t row = 0; row < f.rows; row += kBlockRows)
    for (int64_t query = 0; query < f.queries; query += kQueries)
      add_block(f, query, smaller(kQueries, f.queries - query), row,
                smaller(kBlockRows, f.rows - row), column, count, sums + query * kColumns);
  for (int64_t query = 0; query < f.queries; ++query)
    for (int64_t j = 0; j < count; ++j)
      f.values[query * f.columns + column + j] = static_cast<float>(sums[query * kColumns + j]);
}

}  // namespace

void correlation_read(const CorrelationRead& f) {
  const int64_t share = (f.columns + omp_get_max_threads() - 1) / omp_get_max_threads();
  const int64_t width = smaller(kColumns, (share + 63) / 64 * 64);
  const int threads = simd::region_threads(f.rows * f.columns >= simd::kWorthThreads);
  const simd::ThreadMemory memory(threads, 2 * f.queries * kColumns);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t column = 0; column < f.columns; column += width)
    read_columns(f, column, smaller(width, f.columns - column),
                 reinterpret_cast<double*>(memory.of(omp_get_thread_num())));
}

}  // namespace tessera::memo::cpu::TESSERA_ISA
