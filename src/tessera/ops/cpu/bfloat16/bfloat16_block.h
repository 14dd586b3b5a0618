#pragma once

// Only for *.isa.cpp files: products of blocks of bfloat16 numbers, their sums in float, on the AMX
// tile unit, and with the dot products of pairs that AVX-512 has for bfloat16.
//
// A left tile has 16 rows of 32 operands; a right tile holds its 32 x 16 operands as 16 rows of 16
// pairs (depth 2k and 2k + 1 of a column side by side).

#include <immintrin.h>

#include <cstring>

#include "tessera/ops/cpu/tensor_views.h"
#include "tessera/simd/vector.h"
#ifdef TESSERA_AMX
#include "tessera/simd/tile_unit.h"
#endif

namespace tessera::ops::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;

constexpr int64_t kBlock = 32;
constexpr int64_t kRightTile = 512;  // operands of a right tile

/// 32 floats -> 32 bfloat16, to nearest even.
inline __m512i round_floats(Vector first, Vector second) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second, first));
}

inline void store_rounded(BFloat16* p, Vector pairs) {
  _mm512_storeu_si512(p, reinterpret_cast<__m512i>(pairs));
}

#ifdef TESSERA_AMX

/// Eight full tiles.
struct ProductUnit : TileUnit {
  ProductUnit() : TileUnit({{}, {}, {}, {}, {}, {}, {}, {}}) {}
};

/// One 32 x 32 block of c = or += left * right over `steps` depths of 32. right is the first of two
/// neighbouring columns of tiles, right_stride operands apart. digits: tiles that lie at every
/// depth of such a column; left is multiplied with their sum.
template <bool add, int digits = 1>
inline void block_product(int64_t steps, const BFloat16* left, int64_t left_stride,
                          const BFloat16* right, int64_t right_stride, float* c, int64_t c_stride) {
  const int64_t c_bytes = c_stride * 4, left_bytes = left_stride * 2;
  order_memory();
  if constexpr (add) {
    _tile_loadd(0, c, c_bytes);
    _tile_loadd(1, c + 16, c_bytes);
    _tile_loadd(2, c + 16 * c_stride, c_bytes);
    _tile_loadd(3, c + 16 * c_stride + 16, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t step = 0; step < steps; ++step) {
    _tile_loadd(4, left + step * kBlock, left_bytes);
    _tile_loadd(5, left + 16 * left_stride + step * kBlock, left_bytes);
#pragma GCC unroll 3
    for (int digit = 0; digit < digits; ++digit) {
      const BFloat16* tile = right + (step * digits + digit) * kRightTile;
      _tile_loadd(6, tile, 64);
      _tile_loadd(7, tile + right_stride, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, c, c_bytes);
  _tile_stored(1, c + 16, c_bytes);
  _tile_stored(2, c + 16 * c_stride, c_bytes);
  _tile_stored(3, c + 16 * c_stride + 16, c_bytes);
  order_memory();
}

#else

/// Nothing to set up: the vectors are those of the other instructions.
struct ProductUnit {
  ProductUnit() {}
};

/// The pair at p in every lane.
inline __m512bh broadcast_pair(const BFloat16* p) {
  int32_t pair;
  std::memcpy(&pair, p, sizeof pair);
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
}

/// One 32 x 32 block of c = or += left * right over `steps` depths of 32. right is the first of two
/// neighbouring columns of tiles, right_stride operands apart.
template <bool add>
inline void block_product(int64_t steps, const BFloat16* left, int64_t left_stride,
                          const BFloat16* right, int64_t right_stride, float* c, int64_t c_stride) {
  constexpr int kRows = 8;  // whose sums fit the registers
  for (int64_t row = 0; row < kBlock; row += kRows, left += kRows * left_stride) {
    __m512 sums[kRows][2];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v)
        sums[r][v] = add ? _mm512_loadu_ps(c + (row + r) * c_stride + v * 16) : _mm512_setzero_ps();
    for (int64_t pair = 0; pair < steps * kBlock / 2; ++pair) {
      const BFloat16* columns = right + pair * 32;
      const auto first = reinterpret_cast<__m512bh>(_mm512_loadu_si512(columns));
      const auto second = reinterpret_cast<__m512bh>(_mm512_loadu_si512(columns + right_stride));
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const __m512bh factors = broadcast_pair(left + r * left_stride + 2 * pair);
        sums[r][0] = _mm512_dpbf16_ps(sums[r][0], factors, first);
        sums[r][1] = _mm512_dpbf16_ps(sums[r][1], factors, second);
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) _mm512_storeu_ps(c + (row + r) * c_stride + v * 16, sums[r][v]);
  }
}

#endif

}  // namespace tessera::ops::cpu::TESSERA_ISA
