#include "tessera/memo/cpu/hadamard_scores.h"

#include "tessera/simd/integer_vector.h"
#include "tessera/simd/threads.h"
#include "tessera/simd/vector.h"

namespace tessera::memo::cpu::TESSERA_ISA {

using namespace simd::TESSERA_ISA;
namespace {

constexpr int64_t kLargestBlock = 1024;

/// The sign bits of kLanes values: set where the mask has a one.
WordVector sign_bits(uint64_t mask) {
  const WordVector bit = 1u << reinterpret_cast<WordVector>(lane_numbers());
  const WordVector bits = static_cast<uint32_t>(mask) - WordVector{};
  return reinterpret_cast<WordVector>((bits & bit) != 0) & 0x80000000u;
}

/// sums [block] = the sum over the parts of mask o values.
void fold(const HadamardScores& f, const float* values, const uint64_t* mask, float* sums) {
  for (int64_t c = 0; c < f.block; c += kLanes) {
    Vector sum{};
    for (int64_t part = c; part < f.width; part += f.block) {
      const WordVector signs = sign_bits(mask[part / 64] >> (part % 64));
      sum += reinterpret_cast<Vector>(reinterpret_cast<WordVector>(load(values + part)) ^ signs);
    }
    store(sums + c, sum);
  }
}

/// The steps of the transform whose partners lie in the same vector.
Vector transform_lanes(Vector x) {
  const IntVector lane = lane_numbers();
#pragma GCC unroll 4
  for (int reach = 1; reach < kLanes; reach *= 2) {
    const WordVector minus = reinterpret_cast<WordVector>((lane & reach) != 0) & 0x80000000u;
    x = __builtin_shuffle(x, lane ^ reach) +
        reinterpret_cast<Vector>(reinterpret_cast<WordVector>(x) ^ minus);
  }
  return x;
}

/// sums [size] becomes H sums: two steps at a time.
void transform(float* sums, int64_t size) {
  for (int64_t c = 0; c < size; c += kLanes) store(sums + c, transform_lanes(load(sums + c)));
  int64_t reach = kLanes;
  for (; 2 * reach < size; reach *= 4)
    for (int64_t first = 0; first < size; first += 4 * reach)
      for (int64_t c = first; c < first + reach; c += kLanes) {
        const Vector a = load(sums + c), b = load(sums + c + reach);
        const Vector x = load(sums + c + 2 * reach), y = load(sums + c + 3 * reach);
        store(sums + c, (a + b) + (x + y));
        store(sums + c + reach, (a - b) + (x - y));
        store(sums + c + 2 * reach, (a + b) - (x + y));
        store(sums + c + 3 * reach, (a - b) - (x - y));
      }
  if (reach < size)
    for (int64_t c = 0; c < reach; c += kLanes) {
      const Vector a = load(sums + c), b = load(sums + c + reach);
      store(sums + c, a + b);
      store(sums + c + reach, a - b);
    }
}

}  // namespace

void hadamard_scores(const HadamardScores& f) {
  const int64_t blocks = (f.tokens + f.block - 1) / f.block;
#pragma omp parallel for collapse(2) schedule(static) if (f.count * f.tokens >= simd::kWorthThreads)
  for (int64_t n = 0; n < f.count; ++n)
    for (int64_t b = 0; b < blocks; ++b) {
      alignas(64) float sums[kLargestBlock];
      fold(f, f.values + n * f.width, f.masks + b * (f.width / 64), sums);
      transform(sums, f.block);
      float* scores = f.scores[n] + b * f.block;
      const int64_t count = smaller(f.block, f.tokens - b * f.block);
      for (int64_t j = 0; j < count; ++j) scores[j] = f.scale * sums[j];
    }
}

}  // namespace tessera::memo::cpu::TESSERA_ISA
