#include "tessera/memo/cpu/sign_products.h"

#include "tessera/simd/integer_vector.h"
#include "tessera/simd/threads.h"

namespace tessera::memo::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;
namespace {

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

}  // namespace tessera::memo::cpu::TESSERA_ISA
