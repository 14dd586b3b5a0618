// Built without contraction: a fused multiply-add would round differently where there is one.
#include "tessera/memo/cpu/window_products.h"

#include <omp.h>

#include <cmath>

#include "tessera/simd/threads.h"

namespace tessera::memo::cpu::TESSERA_ISA {
namespace {

/// To the nearest whole number, ties to even; |x| below 2^51.
double rounded(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds
  return (x + kRound) - kRound;
}

double larger(double a, double b) {
  return a > b ? a : b;
}

/// Row n; products [width]: room to work in.
void encode(const WindowProducts& f, int64_t n, double* products) {
  const int8_t* numbers = f.numbers + n * f.next_step * f.width;
  int8_t* codes = f.codes + n * f.width;
  for (int64_t c = 0; c < f.width; ++c) products[c] = numbers[c];
  for (int64_t part = 1; part < f.parts; ++part) {
    const int8_t* next = numbers + part * f.part_step * f.width;
    for (int64_t c = 0; c < f.width; ++c) products[c] *= next[c];
  }
  double largest = 0;
#pragma omp simd reduction(max : largest)
  for (int64_t c = 0; c < f.width; ++c) largest = larger(largest, std::fabs(products[c]));
  const double scale = largest > 0 ? 127 / largest : 0;
  for (int64_t c = 0; c < f.width; ++c)
    codes[c] = static_cast<int8_t>(static_cast<int32_t>(rounded(products[c] * scale)));
}

}  // namespace

void window_products(const WindowProducts& f) {
  const int threads = simd::region_threads(f.count * f.width >= simd::kWorthThreads);
  const simd::ThreadMemory memory(threads, 2 * f.width);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t n = 0; n < f.count; ++n)
    encode(f, n, reinterpret_cast<double*>(memory.of(omp_get_thread_num())));
}

void key_rounding(const KeyRounding& f) {
#pragma omp parallel for schedule(static) if (f.count * f.width >= simd::kWorthThreads)
  for (int64_t n = 0; n < f.count; ++n)
    for (int64_t j = 0; j < f.width; ++j) {
      const double key = rounded(f.sums[n * f.width + j] * f.scales[n]);
      f.keys[n * f.width + j] =
          static_cast<int8_t>(static_cast<int32_t>(larger(-127, -larger(-127, -key))));
    }
}

}  // namespace tessera::memo::cpu::TESSERA_ISA
