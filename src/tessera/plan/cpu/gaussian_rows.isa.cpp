// Branch-free loops over lanes, which the compiler turns into vectors. Built without contraction: a
// fused multiply-add would round differently where there is one.
#include "tessera/plan/cpu/gaussian_rows.h"

#include <cmath>

namespace tessera::theory::cpu::TESSERA_ISA {
namespace {

constexpr int kLanes = 16;  // Philox blocks of a tile: four words each

/// Philox 4x32-10 on blocks first, …, first + 15: words[w][b].
inline void philox_tile(uint64_t seed, uint64_t stream, uint64_t first,
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
inline float radius_of(uint32_t word) {
  // Conversion through int32 is one instruction on every vector unit; through uint32 it is not.
  const float u =
      (static_cast<float>(static_cast<int32_t>(word ^ 0x80000000u)) + 2147483648.0f) * 0x1p-32f +
      0x1p-34f;
  const uint32_t bits = __builtin_bit_cast(uint32_t, u);
  const int32_t exponent = static_cast<int32_t>((bits - 0x3f3504f3u) & 0xff800000u);
  const float m = __builtin_bit_cast(float, bits - static_cast<uint32_t>(exponent));
  const float k = static_cast<float>(exponent) * 0x1p-23f;
  const float s = (m - 1.0f) / (m + 1.0f), z = s * s;
  const float series = 2.0f + z * (0.66666667f + z * (0.4f + z * (0.28571429f + z * 0.22222222f)));
  const float log_u = k * 0.69314718f + s * series;
  const float squared = -2.0f * log_u;
  return std::sqrt(squared > 0.0f ? squared : 0.0f);
}

/// Sine and cosine of 2 pi word 2^-32: the quadrant from the top bits, polynomials on the rest.
inline void sine_and_cosine_of(uint32_t word, float& sine, float& cosine) {
  const uint32_t quadrant = (word + 0x20000000u) >> 30;
  const float x =
      static_cast<float>(static_cast<int32_t>(word - (quadrant << 30))) * 1.46291808e-9f;
  const float z = x * x;
  const float s = x * (1.0f + z * (-0.16666667f + z * (8.3333310e-3f + z * -1.9515296e-4f)));
  const float c =
      1.0f + z * (-0.5f + z * (4.1666666e-2f + z * (-1.3888397e-3f + z * 2.4433157e-5f)));
  const uint32_t swap = 0u - (quadrant & 1u);
  const uint32_t s_bits = __builtin_bit_cast(uint32_t, s), c_bits = __builtin_bit_cast(uint32_t, c);
  const uint32_t sine_bits = (s_bits & ~swap) | (c_bits & swap);
  const uint32_t cosine_bits = (c_bits & ~swap) | (s_bits & swap);
  sine = __builtin_bit_cast(float, sine_bits ^ ((quadrant & 2u) << 30));
  cosine = __builtin_bit_cast(float, cosine_bits ^ (((quadrant + 1u) & 2u) << 30));
}

/// The 64 normals of one tile.
inline void normal_tile(uint64_t seed, uint64_t stream, uint64_t first, float* out) {
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

}  // namespace

void fill_gaussian_rows(const GaussianRows& f) {
  constexpr int64_t kTile = kLanes * 4;
  const int64_t whole = f.columns / kTile * kTile;
  for (int64_t row = 0; row < f.rows; ++row) {
    const uint64_t base = (static_cast<uint64_t>(f.first_row + row) << kRowBits) +
                          static_cast<uint64_t>(f.first_column / 4);
    float* line = f.out + row * f.stride;
    for (int64_t column = 0; column < whole; column += kTile)
      normal_tile(f.seed, f.stream, base + static_cast<uint64_t>(column / 4), line + column);
    if (whole < f.columns) {
      float last[kTile];
      normal_tile(f.seed, f.stream, base + static_cast<uint64_t>(whole / 4), last);
      for (int64_t column = whole; column < f.columns; ++column)
        line[column] = last[column - whole];
    }
  }
}

}  // namespace tessera::theory::cpu::TESSERA_ISA
