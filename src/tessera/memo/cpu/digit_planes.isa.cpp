#include "tessera/memo/cpu/digit_planes.h"

#include "tessera/simd/integer_vector.h"
#include "tessera/simd/threads.h"

namespace tessera::memo::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;
namespace {

constexpr int64_t kBlock = 1024;

void split(const DigitPlanes& f, int64_t first, int64_t count) {
  int32_t rest[kBlock];
  for (int64_t i = 0; i < count; ++i) rest[i] = f.entries[first + i];
  for (int64_t p = 0; p < f.planes; ++p) {
    int8_t* digits = f.digits + p * f.count + first;
    for (int64_t i = 0; i < count; ++i) {
      const int32_t low = rest[i] & 127, carry = low >> 6;
      digits[i] = static_cast<int8_t>(low - 128 * carry);
      rest[i] = (rest[i] >> 7) + carry;
    }
  }
}

}  // namespace

void digit_planes(const DigitPlanes& f) {
#pragma omp parallel for schedule(static) if (f.count >= simd::kWorthThreads)
  for (int64_t first = 0; first < f.count; first += kBlock)
    split(f, first, smaller(kBlock, f.count - first));
}

}  // namespace tessera::memo::cpu::TESSERA_ISA
