#include "tessera/memo/cpu/correlation.h"

#include <omp.h>

#include <type_traits>

#include "tessera/simd/integer_vector.h"
#include "tessera/simd/threads.h"

namespace tessera::memo::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;
namespace {

// Products of signs.

/// kWords blocks of 64 x 64 bits at once, one in each lane: exchanges ever smaller squares across
/// the diagonal.
void transpose_blocks(Words* block) {
  uint64_t mask = 0x00000000ffffffff;
  for (int reach = 32; reach > 0; reach /= 2, mask ^= mask << reach)
    for (int row = 0; row < 64; row = ((row | reach) + 1) & ~reach) {
      const Words swapped = ((block[row] >> reach) ^ block[row | reach]) & mask;
      block[row] ^= swapped << reach;
      block[row | reach] ^= swapped;
    }
}

/// Words of one row from `panel` on, zeros past the last.
Words load_row(const SignTranspose& f, int64_t row, int64_t panel) {
  if (row >= f.count) return Words{};
  const uint64_t* words = f.rows + row * f.panels + panel;
  if (panel + kWords <= f.panels) return load_words(words);
  Words part{};
  for (int64_t lane = 0; panel + lane < f.panels; ++lane) part[lane] = words[lane];
  return part;
}

constexpr int64_t kTileRows = 4;
constexpr int64_t kTileVectors = TESSERA_VECTOR_BYTES == 64 ? 4 : 2;
constexpr int64_t kTileColumns = kTileVectors * kWords;

/// Rows row, ..., row + 3 of a panel of keys by kTileColumns columns of a panel of values.
void multiply_tile(const SignProducts& f, const uint64_t* keys, const uint64_t* values,
                   int32_t* entries) {
  const int64_t groups = (f.pairs + 63) / 64, stride = 64 * f.column_panels;
  Words different[kTileRows][kTileVectors] = {};
  for (int64_t g = 0; g < groups; ++g)
#pragma GCC unroll 4
    for (int64_t v = 0; v < kTileVectors; ++v) {
      const Words value = load_words(values + g * 64 + v * kWords);
#pragma GCC unroll 4
      for (int64_t r = 0; r < kTileRows; ++r)
        different[r][v] += ones(value ^ (keys[g * 64 + r] - Words{}));
    }
  // Of n products, those of different signs are -1.
  for (int64_t r = 0; r < kTileRows; ++r)
    for (int64_t v = 0; v < kTileVectors; ++v)
      for (int64_t lane = 0; lane < kWords; ++lane)
        entries[r * stride + v * kWords + lane] +=
            f.sign *
            static_cast<int32_t>(f.pairs - 2 * static_cast<int64_t>(different[r][v][lane]));
}

// Digits of entries.

constexpr int64_t kSplitTogether = 1024;

void split(const DigitPlanes& f, int64_t first, int64_t count) {
  int32_t rest[kSplitTogether];
  for (int64_t i = 0; i < count; ++i) rest[i] = f.entries[first + i];
  for (int64_t p = 0; p < f.planes; ++p) {
    int8_t* digits = f.digits + p * f.count + first;
    for (int64_t i = 0; i < count; ++i) {
      const int32_t low = rest[i] & 127, carry = low >> 6;
      digits[i] = static_cast<int8_t>(low - 128 * carry);
      rest[i] = (rest[i] >> 7) + carry;
    }
  }
}

// Reads.

typedef double Doubles __attribute__((vector_size(TESSERA_VECTOR_BYTES)));
typedef int32_t HalfIntegers __attribute__((vector_size(TESSERA_VECTOR_BYTES / 2)));
typedef int32_t UnalignedHalfIntegers
    __attribute__((vector_size(TESSERA_VECTOR_BYTES / 2), aligned(4), may_alias));

constexpr int64_t kRows = 8;        // read together, so that sums come and go less often
constexpr int64_t kBlockRows = 32;  // that stay in the second-level cache for all queries
constexpr int64_t kColumns = 2048;  // of them, and of the sums
constexpr int64_t kQueries = 4;     // whose sums are in registers

/// Fetches columns of some rows into the second-level cache, one row after the other: rows that are
/// multiplied side by side are more streams than a processor foresees.
class RowsAhead {
 public:
  /// The rows after so many from `row` on, or the matrix's last ones.
  template <typename Entry>
  RowsAhead(const CorrelationRead<Entry>& f, int64_t row, int64_t rows, int64_t column,
            int64_t count)
      : begin_(reinterpret_cast<const char*>(
            f.entries + smaller(row + rows, f.rows - rows) * f.columns + column)),
        size_(count * static_cast<int64_t>(sizeof(Entry))),
        stride_(f.columns * static_cast<int64_t>(sizeof(Entry))) {}

  /// To be called for each vector of as many entries as fill half of one.
  template <int64_t rows>
  void fetch() {
    constexpr int64_t kLine = 64;
    for (int64_t line = 0; line < rows * (TESSERA_VECTOR_BYTES / 2) / kLine; ++line) {
      __builtin_prefetch(begin_ + fetched_, 0, 2);
      fetched_ += kLine;
      if (fetched_ < size_) continue;
      fetched_ = 0;
      begin_ += stride_;
    }
  }

 private:
  const char* begin_;  // of the row
  int64_t size_, stride_, fetched_ = 0;
};

/// The numbers in which products with entries are added up.
template <typename Entry>
struct Sums;

/// Doubles hold the sums exactly: 2^31 times 2^7 times 2^15 rows is 2^53.
template <>
struct Sums<int32_t> {
  using Number = double;
  using Vector = Doubles;
  static Vector load(const int32_t* entries) {
    const HalfIntegers whole = *reinterpret_cast<const UnalignedHalfIntegers*>(entries);
    return __builtin_convertvector(whole, Doubles);
  }
};

/// 32 bits hold the products of a block of rows.
template <>
struct Sums<int16_t> {
  using Number = int32_t;
  using Vector = Integers;
  static Vector load(const int16_t* entries) { return load_shorts(entries); }
};
static_assert(kBlockRows << (15 + 7) < INT32_MAX);

/// Adds `rows` rows of entries, each times its number in every query, to the sums.
template <int64_t queries, int64_t rows, typename Entry, typename Number>
void add_rows(const CorrelationRead<Entry>& f, const int8_t* keys, int64_t row, int64_t column,
              int64_t count, Number* sums) {
  using Vector = typename Sums<Entry>::Vector;
  constexpr int64_t kNumbers = TESSERA_VECTOR_BYTES / sizeof(Number);
  Number factors[queries][rows];
  for (int64_t q = 0; q < queries; ++q)
    for (int64_t r = 0; r < rows; ++r) factors[q][r] = keys[q * f.rows + row + r];
  const Entry* entries = f.entries + row * f.columns + column;
  RowsAhead ahead(f, row, rows, column, count);
  int64_t j = 0;
  for (; j + kNumbers <= count; j += kNumbers) {
    ahead.fetch<rows>();
    Vector total[queries];
    for (int64_t q = 0; q < queries; ++q)
      total[q] = *reinterpret_cast<const Vector*>(sums + q * kColumns + j);
    for (int64_t r = 0; r < rows; ++r) {
      const Vector entry = Sums<Entry>::load(entries + r * f.columns + j);
      for (int64_t q = 0; q < queries; ++q) total[q] += factors[q][r] * entry;
    }
    for (int64_t q = 0; q < queries; ++q)
      *reinterpret_cast<Vector*>(sums + q * kColumns + j) = total[q];
  }
  for (; j < count; ++j)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t q = 0; q < queries; ++q)
        sums[q * kColumns + j] += factors[q][r] * entries[r * f.columns + j];
}

/// The same of a block's rows. Sums of other numbers get what its rows add up to.
template <int64_t queries, typename Entry, typename Number>
void add_block(const CorrelationRead<Entry>& f, int64_t query, int64_t row, int64_t rows,
               int64_t column, int64_t count, Number* sums) {
  if constexpr (std::is_same_v<Number, typename Sums<Entry>::Number>) {
    const int8_t* keys = f.keys + query * f.rows;
    const int64_t end = row + rows;
    for (; row + kRows <= end; row += kRows)
      add_rows<queries, kRows>(f, keys, row, column, count, sums);
    for (; row < end; ++row) add_rows<queries, 1>(f, keys, row, column, count, sums);
  } else {
    alignas(TESSERA_VECTOR_BYTES) typename Sums<Entry>::Number of_block[queries * kColumns];
    for (int64_t q = 0; q < queries; ++q)
      for (int64_t j = 0; j < count; ++j) of_block[q * kColumns + j] = 0;
    add_block<queries>(f, query, row, rows, column, count, of_block);
    for (int64_t q = 0; q < queries; ++q)
      for (int64_t j = 0; j < count; ++j) sums[q * kColumns + j] += of_block[q * kColumns + j];
  }
}

/// sums [queries, kColumns]: room to work in.
template <typename Entry>
void read_columns(const CorrelationRead<Entry>& f, int64_t column, int64_t count, double* sums) {
  for (int64_t i = 0; i < f.queries * kColumns; ++i) sums[i] = 0;
  for (int64_t row = 0; row < f.rows; row += kBlockRows)
    for (int64_t query = 0; query < f.queries; query += kQueries)
      with_constant<kQueries>(smaller(kQueries, f.queries - query), [&](auto queries) {
        add_block<queries>(f, query, row, smaller(kBlockRows, f.rows - row), column, count,
                           sums + query * kColumns);
      });
  for (int64_t query = 0; query < f.queries; ++query)
    for (int64_t j = 0; j < count; ++j)
      f.values[query * f.columns + column + j] = static_cast<float>(sums[query * kColumns + j]);
}

template <typename Entry>
void read(const CorrelationRead<Entry>& f) {
  const int64_t share = (f.columns + omp_get_max_threads() - 1) / omp_get_max_threads();
  const int64_t width = smaller(kColumns, (share + 63) / 64 * 64);
  const int threads = simd::region_threads(f.rows * f.columns >= simd::kWorthThreads);
  const simd::ThreadMemory memory(threads, 2 * f.queries * kColumns);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t column = 0; column < f.columns; column += width)
    read_columns(f, column, smaller(width, f.columns - column),
                 reinterpret_cast<double*>(memory.of(omp_get_thread_num())));
}

}  // namespace

void sign_transpose(const SignTranspose& f) {
  const int64_t groups = (f.count + 63) / 64;
#pragma omp parallel for collapse(2) schedule(static) if (f.count * f.panels >= simd::kWorthThreads)
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t panel = 0; panel < f.panels; panel += kWords) {
      Words block[64];
      for (int64_t row = 0; row < 64; ++row) block[row] = load_row(f, 64 * g + row, panel);
      transpose_blocks(block);
      for (int64_t lane = 0; lane < kWords && panel + lane < f.panels; ++lane)
        for (int64_t c = 0; c < 64; ++c)
          f.columns[((panel + lane) * groups + g) * 64 + c] = block[c][lane];
    }
}

void sign_products(const SignProducts& f) {
  const int64_t panel_words = (f.pairs + 63) / 64 * 64;
  const int64_t work = f.row_panels * f.column_panels * 64 * panel_words;
#pragma omp parallel for collapse(2) schedule(static) if (work >= simd::kWorthThreads)
  for (int64_t row_panel = 0; row_panel < f.row_panels; ++row_panel)
    for (int64_t column_panel = 0; column_panel < f.column_panels; ++column_panel)
      for (int64_t column = 0; column < 64; column += kTileColumns)
        for (int64_t row = 0; row < 64; row += kTileRows)
          multiply_tile(
              f, f.keys + row_panel * panel_words + row,
              f.values + column_panel * panel_words + column,
              f.entries + ((row_panel * 64 + row) * f.column_panels + column_panel) * 64 + column);
}

void digit_planes(const DigitPlanes& f) {
#pragma omp parallel for schedule(static) if (f.count >= simd::kWorthThreads)
  for (int64_t first = 0; first < f.count; first += kSplitTogether)
    split(f, first, smaller(kSplitTogether, f.count - first));
}

void correlation_read(const CorrelationRead<int32_t>& f) {
  read(f);
}

void short_correlation_read(const CorrelationRead<int16_t>& f) {
  read(f);
}

}  // namespace tessera::memo::cpu::TESSERA_ISA
