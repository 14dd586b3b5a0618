#pragma once

// Only for files that are built once per instruction set (*.isa.cpp): vectors as wide as the
// instruction set's registers. Wider ones would be split by the compiler, at a fortyfold cost.

#include <cstdint>
#if TESSERA_VECTOR_BYTES > 16
#include <immintrin.h>
#endif

#include "tessera/simd/instruction_set.h"
#include "tessera/simd/integer_vector.h"

namespace tessera::simd::TESSERA_ISA {

typedef float Vector __attribute__((vector_size(TESSERA_VECTOR_BYTES)));
typedef float UnalignedVector
    __attribute__((vector_size(TESSERA_VECTOR_BYTES), aligned(4), may_alias));
typedef uint32_t WordVector __attribute__((vector_size(TESSERA_VECTOR_BYTES)));

constexpr int64_t kLanes = TESSERA_VECTOR_BYTES / 4;

inline int64_t round_up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

inline Vector load(const float* p) {
  return *reinterpret_cast<const UnalignedVector*>(p);
}

/// The same of bfloat16, the upper halves of floats, and of whole numbers. (What the compiler makes
/// of __builtin_convertvector takes ten times as many instructions; g++ 12 warns of the intrinsics
/// without a mask.)
#if TESSERA_VECTOR_BYTES == 64
inline Vector load(const uint16_t* p) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return reinterpret_cast<Vector>(
      reinterpret_cast<WordVector>(_mm512_maskz_cvtepu16_epi32(0xffff, halves)) << 16);
}
inline Vector load(const int8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return __builtin_convertvector(
      reinterpret_cast<Integers>(_mm512_maskz_cvtepi8_epi32(0xffff, bytes)), Vector);
}
#elif TESSERA_VECTOR_BYTES == 32
inline Vector load(const uint16_t* p) {
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<Vector>(reinterpret_cast<WordVector>(_mm256_cvtepu16_epi32(halves))
                                  << 16);
}
inline Vector load(const int8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return __builtin_convertvector(reinterpret_cast<Integers>(_mm256_cvtepi8_epi32(bytes)), Vector);
}
#endif

inline void store(float* p, Vector v) {
  *reinterpret_cast<UnalignedVector*>(p) = v;
}

/// Asks for what lies this far behind p, of memory that is read once from one end to the other for
/// so many vectors at once. Beyond the end it does no harm.
inline void fetch_ahead(const void* p, int vectors = 1) {
  constexpr int64_t kBytes = 4096;
  if (vectors > 1 || kFetchAhead)
    __builtin_prefetch(static_cast<const char*>(p) + kBytes, /*write=*/0, /*locality=*/2);
}

/// x in every lane. (x - 0 is x also for -0, so nothing is computed.)
inline Vector fill(float x) {
  return x - Vector{};
}

/// 0, 1, 2, …
inline Integers lane_numbers() {
  Integers v;
  for (int lane = 0; lane < kLanes; ++lane) v[lane] = lane;
  return v;
}

/// The first `count` of a vector's elements, zeros after them.
template <typename Element>
inline Vector load_part(const Element* p, int64_t count) {
  if (count >= kLanes) return load(p);
  Element part[kLanes] = {};
  for (int64_t lane = 0; lane < count; ++lane) part[lane] = p[lane];
  return load(part);
}

// load_part, and store_part, which stores the first `count` of a vector's elements, take one
// instruction where there is one: a load waits long for elements that were stored singly. The
// baseline has no store_part.
#if TESSERA_VECTOR_BYTES == 64
inline __mmask16 first_lanes(int64_t count) {
  return count <= 0 ? 0 : static_cast<__mmask16>((1u << count) - 1);
}
inline Vector load_part(const float* p, int64_t count) {
  if (count >= kLanes) return load(p);
  return reinterpret_cast<Vector>(_mm512_maskz_loadu_ps(first_lanes(count), p));
}
inline Vector load_part(const uint16_t* p, int64_t count) {
  if (count >= kLanes) return load(p);
  const __m256i halves = _mm256_maskz_loadu_epi16(first_lanes(count), p);
  return reinterpret_cast<Vector>(
      reinterpret_cast<WordVector>(_mm512_maskz_cvtepu16_epi32(0xffff, halves)) << 16);
}
inline void store_part(float* p, Vector v, int64_t count) {
  if (count >= kLanes) return store(p, v);
  _mm512_mask_storeu_ps(p, first_lanes(count), reinterpret_cast<__m512>(v));
}
#elif TESSERA_VECTOR_BYTES == 32
inline __m256i first_lanes(int64_t count) {
  return reinterpret_cast<__m256i>(lane_numbers() < static_cast<int32_t>(count));
}
inline Vector load_part(const float* p, int64_t count) {
  if (count >= kLanes) return load(p);
  return reinterpret_cast<Vector>(_mm256_maskload_ps(p, first_lanes(count)));
}
inline void store_part(float* p, Vector v, int64_t count) {
  if (count >= kLanes) return store(p, v);
  _mm256_maskstore_ps(p, first_lanes(count), reinterpret_cast<__m256>(v));
}
#endif

/// Rows become columns: exchanges blocks of 1, 2, 4, … across the diagonal.
inline void transpose(Vector* rows) {
  const Integers lane = lane_numbers();
#pragma GCC unroll 4
  for (int reach = 1; reach < kLanes; reach *= 2) {
    const Integers odd = (lane & reach) != 0;
    const Integers upper = odd ? lane - reach + static_cast<int>(kLanes) : lane;
    const Integers lower = odd ? lane + static_cast<int>(kLanes) : lane + reach;
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if (i & reach) continue;
      const Vector a = rows[i], b = rows[i + reach];
      rows[i] = __builtin_shuffle(a, b, upper);
      rows[i + reach] = __builtin_shuffle(a, b, lower);
    }
  }
}

/// Of two that cannot be compared the second.
inline Vector larger(Vector a, Vector b) {
  return a > b ? a : b;
}

inline float sum(Vector v) {
#pragma GCC unroll 4
  for (int reach = kLanes / 2; reach > 0; reach /= 2)
    v += __builtin_shuffle(v, lane_numbers() ^ reach);
  return v[0];
}

inline float largest(Vector v) {
#pragma GCC unroll 4
  for (int reach = kLanes / 2; reach > 0; reach /= 2)
    v = larger(v, __builtin_shuffle(v, lane_numbers() ^ reach));
  return v[0];
}

/// e^x for x <= 88, relative error below 2e-7; exactly 0 below -87, also for minus infinity; NaN
/// for NaN.
inline Vector exponential(Vector x) {
  constexpr float kRound = 12582912.0f;            // 1.5 * 2^23: adding it rounds to an integer
  const Vector bounded = larger(fill(-87.0f), x);  // NaN where x is
  const Vector shifted = bounded * 1.44269504f + kRound;
  const Vector n = shifted - kRound;
  const Vector r = bounded - n * 0.693145752f - n * 1.42860677e-6f;  // ln 2 in two parts
  Vector y = r * 0.0013948592823f + 0.008375137113f;
  y = y * r + 0.041666217148f;
  y = y * r + 0.166664153337f;
  y = y * r + 0.5f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
  const Integers scaled =
      reinterpret_cast<Integers>(y) + (reinterpret_cast<Integers>(shifted) << 23);  // y * 2^n
  return x >= -87.0f ? reinterpret_cast<Vector>(scaled) : bounded - bounded;
}

}  // namespace tessera::simd::TESSERA_ISA
