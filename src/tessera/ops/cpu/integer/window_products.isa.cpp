// Built without contraction: a fused multiply-add would round differently where there is one.
#include "tessera/ops/cpu/integer/window_products.h"

#include <algorithm>
#include <cmath>

#include "tessera/ops/cpu/sequence.h"

namespace tessera::cpu::TESSERA_ISA {
namespace {

constexpr int64_t kBlock = 64;

/// To the nearest whole number, ties to even; |x| below 2^51.
double rounded(double x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds
  return (x + kRound) - kRound;
}

/// The products of the parts in columns column, ..., column + kBlock - 1.
void multiply_parts(const WindowProducts& f, const int8_t* numbers, int64_t count,
                    double* products) {
  for (int64_t c = 0; c < count; ++c) products[c] = numbers[c];
  for (int64_t part = 1; part < f.parts; ++part) {
    const int8_t* next = numbers + part * f.part_step * f.width;
    for (int64_t c = 0; c < count; ++c) products[c] *= next[c];
  }
}

void encode(const WindowProducts& f, int64_t n) {
  const int8_t* numbers = f.numbers + n * f.next_step * f.width;
  int8_t* codes = f.codes + n * f.width;
  alignas(64) double products[kBlock];
  double largest = 0;
  for (int64_t column = 0; column < f.width; column += kBlock) {
    const int64_t count = std::min(kBlock, f.width - column);
    multiply_parts(f, numbers + column, count, products);
    for (int64_t c = 0; c < count; ++c) largest = std::max(largest, std::fabs(products[c]));
  }
  const double scale = largest > 0 ? 127 / largest : 0;
  for (int64_t column = 0; column < f.width; column += kBlock) {
    const int64_t count = std::min(kBlock, f.width - column);
    multiply_parts(f, numbers + column, count, products);
    for (int64_t c = 0; c < count; ++c)
      codes[column + c] = static_cast<int8_t>(static_cast<int32_t>(rounded(products[c] * scale)));
  }
}

}  // namespace

void window_products(const WindowProducts& f) {
#pragma omp parallel for schedule(static) if (f.count * f.width >= kWorthThreads)
  for (int64_t n = 0; n < f.count; ++n) encode(f, n);
}

void key_rounding(const KeyRounding& f) {
#pragma omp parallel for schedule(static) if (f.count * f.width >= kWorthThreads)
  for (int64_t n = 0; n < f.count; ++n)
    for (int64_t j = 0; j < f.width; ++j) {
      const double key = rounded(f.sums[n * f.width + j] * f.scales[n]);
      f.keys[n * f.width + j] =
          static_cast<int8_t>(static_cast<int32_t>(std::clamp(key, -127.0, 127.0)));
    }
}

}  // namespace tessera::cpu::TESSERA_ISA
