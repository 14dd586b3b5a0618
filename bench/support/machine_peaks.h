#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/support/clocks.h"

// What one core of this machine can do at most: the ceilings that rates are held against.

namespace tessera::bench {

/// The largest of five rates of `work` per call of `run`, per second of the CPU.
template <typename Run>
double best_rate(double work, const Run& run) {
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = cpu_seconds();
    run();
    best = std::max(best, work / (cpu_seconds() - start));
  }
  return best;
}

constexpr int64_t kPeakSteps = 4'000'000;  // of twelve independent instruction sequences

// One sequence for each of twelve registers, and the registers.
#define TESSERA_TWELVE(step) \
  step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) step(11)
#define TESSERA_REGISTER(i) __m512i sum##i = _mm512_set1_epi32(i);

/// Exclusive or, count of ones, addition: 512 products of signs.
[[gnu::target("avx512f,avx512vpopcntdq")]] inline void multiply_signs() {
  TESSERA_TWELVE(TESSERA_REGISTER)
  const __m512i x = _mm512_set1_epi32(3), y = _mm512_set1_epi32(7);
  for (int64_t n = 0; n < kPeakSteps; ++n) {
#define TESSERA_COUNT(i)                                                \
  {                                                                     \
    __m512i ones;                                                       \
    asm volatile("vpxorq %2,%3,%1\n\tvpopcntq %1,%1\n\tvpaddq %1,%0,%0" \
                 : "+v"(sum##i), "=&v"(ones)                            \
                 : "v"(x), "v"(y));                                     \
  }
    TESSERA_TWELVE(TESSERA_COUNT)
#undef TESSERA_COUNT
  }
}

/// The dot product of bytes, vpdpbusd: 64 products.
[[gnu::target("avx512f,avx512vnni")]] inline void multiply_bytes() {
  TESSERA_TWELVE(TESSERA_REGISTER)
  const __m512i x = _mm512_set1_epi32(3), y = _mm512_set1_epi32(7);
  for (int64_t n = 0; n < kPeakSteps; ++n) {
#define TESSERA_DOT(i) asm volatile("vpdpbusd %1,%2,%0" : "+v"(sum##i) : "v"(x), "v"(y));
    TESSERA_TWELVE(TESSERA_DOT)
#undef TESSERA_DOT
  }
}

#undef TESSERA_REGISTER
#undef TESSERA_TWELVE

/// Products of signs a second (AVX-512 VPOPCNTDQ); 0 where the processor has no such instruction.
inline double sign_product_peak() {
  if (!__builtin_cpu_supports("avx512vpopcntdq")) return 0;
  return best_rate(512.0 * 12 * kPeakSteps, multiply_signs);
}

/// Products of bytes a second (AVX-512 VNNI); 0 where the processor has no such instruction.
inline double byte_product_peak() {
  if (!__builtin_cpu_supports("avx512vnni")) return 0;
  return best_rate(64.0 * 12 * kPeakSteps, multiply_bytes);
}

/// Bytes read a second from a buffer far larger than the caches.
inline double read_bandwidth() {
  const std::vector<int64_t> buffer(size_t{1} << 26, 1);  // 512 MiB
  const auto size = std::ssize(buffer);
  volatile int64_t total = 0;
  return best_rate(8.0 * static_cast<double>(size), [&] {
    int64_t sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (int64_t i = 0; i < size; ++i) sum += buffer[i];
    total = sum;
  });
}

}  // namespace tessera::bench
