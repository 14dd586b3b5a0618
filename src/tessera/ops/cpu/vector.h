#pragma once

// Only for files that are built once per instruction set (*.isa.cpp): vectors as wide as the
// instruction set's registers. Wider ones would be split by the compiler, at a fortyfold cost.

#include <cstdint>

namespace tessera::cpu::TESSERA_ISA {

typedef float Vector __attribute__((vector_size(TESSERA_VECTOR_BYTES)));
typedef int32_t IntVector __attribute__((vector_size(TESSERA_VECTOR_BYTES)));
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

inline void store(float* p, Vector v) {
  *reinterpret_cast<UnalignedVector*>(p) = v;
}

/// x in every lane. (x - 0 is x also for -0, so nothing is computed.)
inline Vector fill(float x) {
  return x - Vector{};
}

/// 0, 1, 2, …
inline IntVector lane_numbers() {
  IntVector v;
  for (int lane = 0; lane < kLanes; ++lane) v[lane] = lane;
  return v;
}

inline Vector larger(Vector a, Vector b) {
  return a > b ? a : b;
}

inline float sum(Vector v) {
  float total = 0;
  for (int lane = 0; lane < kLanes; ++lane) total += v[lane];
  return total;
}

inline float largest(Vector v) {
  float found = v[0];
  for (int lane = 1; lane < kLanes; ++lane) found = v[lane] > found ? v[lane] : found;
  return found;
}

/// e^x for x <= 88, relative error below 2e-7; exactly 0 below -87, also for minus infinity.
inline Vector exponential(Vector x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Vector bounded = larger(x, fill(-87.0f));
  const Vector shifted = bounded * 1.44269504f + kRound;
  const Vector n = shifted - kRound;
  const Vector r = bounded - n * 0.693145752f - n * 1.42860677e-6f;  // ln 2 in two parts
  Vector y = r * 0.0013948592823f + 0.008375137113f;
  y = y * r + 0.041666217148f;
  y = y * r + 0.166664153337f;
  y = y * r + 0.5f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
  const IntVector scaled =
      reinterpret_cast<IntVector>(y) + (reinterpret_cast<IntVector>(shifted) << 23);  // y * 2^n
  return x < -87.0f ? Vector{} : reinterpret_cast<Vector>(scaled);
}

}  // namespace tessera::cpu::TESSERA_ISA
