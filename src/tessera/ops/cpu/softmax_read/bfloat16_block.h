#pragma once

// Only for *.isa.cpp files: the block product of bfloat16_products.h, on the AMX tile unit, and
// with the dot products of pairs that AVX-512 has for bfloat16.

#include <immintrin.h>

#include <cstring>

#include "tessera/ops/cpu/tensor_views.h"
#ifdef TESSERA_AMX
#include "tessera/simd/tile_unit.h"
#endif

namespace tessera::ops::cpu::TESSERA_ISA {

constexpr int64_t kBlock = 32;
constexpr int64_t kRightTile = 512;  // operands of a right tile

#ifdef TESSERA_AMX

/// Eight full tiles.
struct ProductUnit : simd::TESSERA_ISA::TileUnit {
  ProductUnit() : TileUnit({{}, {}, {}, {}, {}, {}, {}, {}}) {}
};

/// One 32 x 32 block of c = or += left * right over `steps` depths of 32. right is the first of two
/// neighbouring columns of tiles, right_stride operands apart.
template <bool add>
inline void block_product(int64_t steps, const BFloat16* left, int64_t left_stride,
                          const BFloat16* right, int64_t right_stride, float* c, int64_t c_stride) {
  const int64_t c_bytes = c_stride * 4, left_bytes = left_stride * 2;
  simd::TESSERA_ISA::order_memory();
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
    _tile_loadd(6, right + step * kRightTile, 64);
    _tile_loadd(7, right + right_stride + step * kRightTile, 64);
    _tile_loadd(5, left + 16 * left_stride + step * kBlock, left_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, c_bytes);
  _tile_stored(1, c + 16, c_bytes);
  _tile_stored(2, c + 16 * c_stride, c_bytes);
  _tile_stored(3, c + 16 * c_stride + 16, c_bytes);
  simd::TESSERA_ISA::order_memory();
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
