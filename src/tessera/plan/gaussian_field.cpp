#include "tessera/plan/gaussian_field.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/base/error.h"

namespace tessera::theory {
namespace {

constexpr int kLanes = 16;  // Philox blocks of a tile: four words each
constexpr int kRowBits = 24;

// Everything below is branch-free loops over lanes, so that the compiler can vectorise it for the
// instruction set of the function it is inlined into.
#define TESSERA_INLINE [[gnu::always_inline]] inline

/// Philox 4x32-10 on blocks first, …, first + 15: words[w][b].
TESSERA_INLINE void philox_tile(uint64_t seed, uint64_t stream, uint64_t first,
                                uint32_t (&words)[4][kLanes]) {
  uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int b = 0; b < kLanes; ++b) {
    words[0][b] = static_cast<uint32_t>(first) + static_cast<uint32_t>(b);
    words[1][b] = static_cast<uint32_t>(first >> 32);
    words[2][b] = static_cast<uint32_t>(stream);
    words[3][b] = static_cast<uint32_t>(stream >> 32);
  }
  for (int round = 0; round < 10; ++round) {
    for (int b = 0; b < kLanes; ++b) {
      const uint64_t product0 = uint64_t{0xD2511F53} * words[0][b];
      const uint64_t product1 = uint64_t{0xCD9E8D57} * words[2][b];
      words[0][b] = static_cast<uint32_t>(product1 >> 32) ^ words[1][b] ^ key0;
      words[1][b] = static_cast<uint32_t>(product1);
      words[2][b] = static_cast<uint32_t>(product0 >> 32) ^ words[3][b] ^ key1;
      words[3][b] = static_cast<uint32_t>(product0);
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}

/// sqrt(-2 log u) for u = word 2^-32 + 2^-34. The logarithm: u = m 2^k with m in [0.7, 1.4), then
/// the series of 2 artanh((m - 1) / (m + 1)), cut where it is below float's resolution.
TESSERA_INLINE float radius_of(uint32_t word) {
  // Conversion through int32 is one instruction on every vector unit; through uint32 it is not.
  const float u =
      (static_cast<float>(static_cast<int32_t>(word ^ 0x80000000u)) + 2147483648.0f) * 0x1p-32f +
      0x1p-34f;
  const uint32_t bits = std::bit_cast<uint32_t>(u);
  const int32_t exponent = static_cast<int32_t>((bits - 0x3f3504f3u) & 0xff800000u);
  const float m = std::bit_cast<float>(bits - static_cast<uint32_t>(exponent));
  const float k = static_cast<float>(exponent) * 0x1p-23f;
  const float s = (m - 1.0f) / (m + 1.0f), z = s * s;
  const float series = 2.0f + z * (0.66666667f + z * (0.4f + z * (0.28571429f + z * 0.22222222f)));
  const float log_u = k * 0.69314718f + s * series;
  return std::sqrt(std::max(0.0f, -2.0f * log_u));
}

/// Sine and cosine of 2 pi word 2^-32: the quadrant from the top bits, polynomials on the rest.
TESSERA_INLINE void sine_and_cosine_of(uint32_t word, float& sine, float& cosine) {
  const uint32_t quadrant = (word + 0x20000000u) >> 30;
  const float x =
      static_cast<float>(static_cast<int32_t>(word - (quadrant << 30))) * 1.46291808e-9f;
  const float z = x * x;
  const float s = x * (1.0f + z * (-0.16666667f + z * (8.3333310e-3f + z * -1.9515296e-4f)));
  const float c =
      1.0f + z * (-0.5f + z * (4.1666666e-2f + z * (-1.3888397e-3f + z * 2.4433157e-5f)));
  const uint32_t swap = 0u - (quadrant & 1u);
  const uint32_t s_bits = std::bit_cast<uint32_t>(s), c_bits = std::bit_cast<uint32_t>(c);
  const uint32_t sine_bits = (s_bits & ~swap) | (c_bits & swap);
  const uint32_t cosine_bits = (c_bits & ~swap) | (s_bits & swap);
  sine = std::bit_cast<float>(sine_bits ^ ((quadrant & 2u) << 30));
  cosine = std::bit_cast<float>(cosine_bits ^ (((quadrant + 1u) & 2u) << 30));
}

/// The 64 normals of one tile.
TESSERA_INLINE void normal_tile(uint64_t seed, uint64_t stream, uint64_t first, float* out) {
  uint32_t words[4][kLanes];
  philox_tile(seed, stream, first, words);
  for (int pair = 0; pair < 2; ++pair) {
    for (int b = 0; b < kLanes; ++b) {
      float sine, cosine;
      sine_and_cosine_of(words[2 * pair + 1][b], sine, cosine);
      const float radius = radius_of(words[2 * pair][b]);
      out[2 * pair * kLanes + b] = radius * cosine;
      out[(2 * pair + 1) * kLanes + b] = radius * sine;
    }
  }
}

TESSERA_INLINE void fill_rows(uint64_t seed, uint64_t stream, int64_t first_row, int64_t rows,
                              int64_t first_column, int64_t columns, float* out, int64_t stride) {
  constexpr int64_t kTile = GaussianField::kTileColumns;
  const int64_t whole = columns / kTile * kTile;
  for (int64_t row = 0; row < rows; ++row) {
    const uint64_t base = (static_cast<uint64_t>(first_row + row) << kRowBits) +
                          static_cast<uint64_t>(first_column / 4);
    float* line = out + row * stride;
    for (int64_t column = 0; column < whole; column += kTile)
      normal_tile(seed, stream, base + static_cast<uint64_t>(column / 4), line + column);
    if (whole < columns) {
      float last[kTile];
      normal_tile(seed, stream, base + static_cast<uint64_t>(whole / 4), last);
      std::copy_n(last, columns - whole, line + whole);
    }
  }
}

#undef TESSERA_INLINE

using FillRows = void(uint64_t, uint64_t, int64_t, int64_t, int64_t, int64_t, float*, int64_t);

void fill_any(uint64_t seed, uint64_t stream, int64_t first_row, int64_t rows, int64_t first_column,
              int64_t columns, float* out, int64_t stride) {
  fill_rows(seed, stream, first_row, rows, first_column, columns, out, stride);
}

#ifdef __x86_64__
#ifdef __clang__
#define TESSERA_AVX512 "avx512f,avx512dq,avx512bw,avx512vl"
#else  // GCC halves the width by default
#define TESSERA_AVX512 "avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512"
#endif

[[gnu::target(TESSERA_AVX512)]] void fill_avx512(uint64_t seed, uint64_t stream, int64_t first_row,
                                                 int64_t rows, int64_t first_column,
                                                 int64_t columns, float* out, int64_t stride) {
  fill_rows(seed, stream, first_row, rows, first_column, columns, out, stride);
}

[[gnu::target("avx2")]] void fill_avx2(uint64_t seed, uint64_t stream, int64_t first_row,
                                       int64_t rows, int64_t first_column, int64_t columns,
                                       float* out, int64_t stride) {
  fill_rows(seed, stream, first_row, rows, first_column, columns, out, stride);
}

FillRows* best_fill() {
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    return fill_avx512;
  return __builtin_cpu_supports("avx2") ? fill_avx2 : fill_any;
}
#else
FillRows* best_fill() {
  return fill_any;
}
#endif

}  // namespace

void GaussianField::fill(int64_t first_row, int64_t rows, int64_t first_column, int64_t columns,
                         float* out, int64_t stride) const {
  check_argument(first_column % kTileColumns == 0,
                 "GaussianField::fill: the first column is {}, which is not a multiple of {}",
                 first_column, kTileColumns);
  check_argument(columns <= stride, "GaussianField::fill: {} columns do not fit a row of {}",
                 columns, stride);
  constexpr int64_t kMostColumns = int64_t{4} << kRowBits;  // four numbers of a block of Philox
  check_argument(first_column + columns <= kMostColumns,
                 "GaussianField::fill: columns {} to {}, expected at most {}", first_column,
                 first_column + columns, kMostColumns);
  static FillRows* const fill_block = best_fill();
  fill_block(seed_, stream_, first_row, rows, first_column, columns, out, stride);
}

std::vector<float> gaussian_rows(int64_t rows, int64_t columns, uint64_t seed, uint64_t stream) {
  std::vector<float> field(rows * columns);
  GaussianField(seed, stream).fill(0, rows, 0, columns, field.data(), columns);
  return field;
}

}  // namespace tessera::theory
