#pragma once

// Only for files that are built once per instruction set (*.isa.cpp): whole numbers in vectors as
// wide as the instruction set's registers, and the two instructions that differ most between them.

#include <cstdint>
#include <type_traits>
#if TESSERA_VECTOR_BYTES > 16
#include <immintrin.h>
#endif

namespace tessera::simd::TESSERA_ISA {

typedef uint64_t Words __attribute__((vector_size(TESSERA_VECTOR_BYTES)));
typedef uint64_t UnalignedWords
    __attribute__((vector_size(TESSERA_VECTOR_BYTES), aligned(8), may_alias));
typedef uint8_t Bytes __attribute__((vector_size(TESSERA_VECTOR_BYTES)));
typedef uint8_t UnalignedBytes
    __attribute__((vector_size(TESSERA_VECTOR_BYTES), aligned(1), may_alias));
typedef int32_t Integers __attribute__((vector_size(TESSERA_VECTOR_BYTES)));
typedef int32_t UnalignedInteger __attribute__((aligned(1), may_alias));
typedef int32_t UnalignedIntegers
    __attribute__((vector_size(TESSERA_VECTOR_BYTES), aligned(4), may_alias));

constexpr int64_t kWords = TESSERA_VECTOR_BYTES / 8;

// Not std::min: what a linker keeps of a library template may be this instruction set's copy.
inline int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/// Calls work with a std::integral_constant of this number, 1 <= count <= most.
template <int64_t most, typename Work>
void with_constant(int64_t count, const Work& work) {
  if constexpr (most > 1)
    if (count < most) return with_constant<most - 1>(count, work);
  work(std::integral_constant<int64_t, most>());
}

inline Words load_words(const uint64_t* p) {
  return *reinterpret_cast<const UnalignedWords*>(p);
}
inline Bytes load_bytes(const uint8_t* p) {
  return *reinterpret_cast<const UnalignedBytes*>(p);
}
#if TESSERA_VECTOR_BYTES == 64
/// Half a vector, zeros after it.
inline Bytes load_half(const uint8_t* p) {
  return reinterpret_cast<Bytes>(_mm512_maskz_loadu_epi32(0xff, p));
}
#endif
inline Integers load_integers(const int32_t* p) {
  return *reinterpret_cast<const UnalignedIntegers*>(p);
}
/// A number of 16 bits for each lane.
inline Integers load_shorts(const int16_t* p) {
#if TESSERA_VECTOR_BYTES == 64
  return reinterpret_cast<Integers>(_mm512_maskz_cvtepi16_epi32(  // without a mask GCC 12 warns
      0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#elif TESSERA_VECTOR_BYTES == 32
  return reinterpret_cast<Integers>(
      _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
  return Integers{p[0], p[1], p[2], p[3]};
#endif
}

#if TESSERA_VECTOR_BYTES == 64

/// The number of ones in each word.
inline Words ones(Words words) {
#ifdef __AVX512VPOPCNTDQ__
  return reinterpret_cast<Words>(_mm512_popcnt_epi64(reinterpret_cast<__m512i>(words)));
#else
  const __m512i x = reinterpret_cast<__m512i>(words), low = _mm512_set1_epi8(15);
  const __m512i counts = _mm512_set4_epi32(0x04030302, 0x03020201, 0x03020201, 0x02010100);
  const __m512i sums =
      _mm512_add_epi8(_mm512_shuffle_epi8(counts, _mm512_and_si512(x, low)),
                      _mm512_shuffle_epi8(counts, _mm512_and_si512(_mm512_srli_epi16(x, 4), low)));
  return reinterpret_cast<Words>(_mm512_sad_epu8(sums, _mm512_setzero_si512()));
#endif
}

/// sums + the products of four bytes each, x without and y with a sign, where no sum of two
/// products leaves 16 bits: x below 128, or y from -64 to 64.
inline Integers add_products(Integers sums, Bytes x, Bytes y) {
  const __m512i a = reinterpret_cast<__m512i>(x), b = reinterpret_cast<__m512i>(y);
#ifdef __AVX512VNNI__
  return reinterpret_cast<Integers>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), a, b));
#else
  return sums + reinterpret_cast<Integers>(
                    _mm512_madd_epi16(_mm512_maddubs_epi16(a, b), _mm512_set1_epi16(1)));
#endif
}

/// sums + the products of four signed bytes each, none of them -128. Not for the baseline.
inline Integers add_signed_products(Integers sums, Bytes x, Bytes y) {
  const __m512i a = reinterpret_cast<__m512i>(x), b = reinterpret_cast<__m512i>(y);
  const __m512i with_sign_of_a =
      _mm512_mask_sub_epi8(b, _mm512_movepi8_mask(a), _mm512_setzero_si512(), b);
  return add_products(sums, reinterpret_cast<Bytes>(_mm512_abs_epi8(a)),
                      reinterpret_cast<Bytes>(with_sign_of_a));
}

#elif TESSERA_VECTOR_BYTES == 32

inline Words ones(Words words) {
  const __m256i x = reinterpret_cast<__m256i>(words), low = _mm256_set1_epi8(15);
  const __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1,
                                          2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
  const __m256i sums =
      _mm256_add_epi8(_mm256_shuffle_epi8(counts, _mm256_and_si256(x, low)),
                      _mm256_shuffle_epi8(counts, _mm256_and_si256(_mm256_srli_epi16(x, 4), low)));
  return reinterpret_cast<Words>(_mm256_sad_epu8(sums, _mm256_setzero_si256()));
}

inline Integers add_products(Integers sums, Bytes x, Bytes y) {
  const __m256i a = reinterpret_cast<__m256i>(x), b = reinterpret_cast<__m256i>(y);
  return sums + reinterpret_cast<Integers>(
                    _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), _mm256_set1_epi16(1)));
}

inline Integers add_signed_products(Integers sums, Bytes x, Bytes y) {
  const __m256i a = reinterpret_cast<__m256i>(x), b = reinterpret_cast<__m256i>(y);
  return add_products(sums, reinterpret_cast<Bytes>(_mm256_abs_epi8(a)),
                      reinterpret_cast<Bytes>(_mm256_sign_epi8(b, a)));
}

#else

inline Words ones(Words words) {
  words -= words >> 1 & 0x5555555555555555;
  words = (words & 0x3333333333333333) + (words >> 2 & 0x3333333333333333);
  words = (words + (words >> 4)) & 0x0f0f0f0f0f0f0f0f;
  words += words >> 8;
  words += words >> 16;
  return (words + (words >> 32)) & 0x7f;
}

inline Integers add_products(Integers sums, Bytes x, Bytes y) {
  for (int byte = 0; byte < TESSERA_VECTOR_BYTES; ++byte)
    sums[byte / 4] += int{x[byte]} * static_cast<int8_t>(y[byte]);
  return sums;
}

#endif

}  // namespace tessera::simd::TESSERA_ISA
