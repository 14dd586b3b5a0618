#pragma once

#include <cmath>
#include <cstdint>

#include "tessera/ops/cpu/loop.h"

namespace tessera::ops::cpu {

// The counter-based hash behind dropout: the weight of stored pair i at time t of one (batch row,
// head) survives where  mix32(mix32(head_key + t * kTimeStep) + i * kPairStep) >= threshold,
// in 32-bit arithmetic, so that a vector of pairs costs a dozen instructions.

constexpr uint32_t kTimeStep = 0x9e3779b9u;
constexpr uint32_t kPairStep = 0x85ebca6bu;
constexpr uint32_t kMixFirst = 0x7feb352du;
constexpr uint32_t kMixSecond = 0x846ca68bu;

/// A bijection of 32-bit words in which every input bit moves every output bit. Also works on
/// vectors of words.
template <typename Word>
inline Word mix32(Word x) {
  x ^= x >> 16;
  x *= kMixFirst;
  x ^= x >> 15;
  x *= kMixSecond;
  x ^= x >> 16;
  return x;
}

inline uint32_t dropout_seed_key(uint64_t seed) {
  return mix32(mix32(static_cast<uint32_t>(seed)) + static_cast<uint32_t>(seed >> 32));
}

inline uint32_t dropout_head_key(uint64_t seed, int64_t batch_row, int64_t head) {
  const uint32_t key = mix32(dropout_seed_key(seed) + static_cast<uint32_t>(batch_row));
  return mix32(key + static_cast<uint32_t>(head));
}

inline uint32_t dropout_row_key(uint32_t head_key, int64_t time) {
  return mix32(head_key + static_cast<uint32_t>(time) * kTimeStep);
}

/// A word below the threshold means: dropped.
inline uint32_t dropout_threshold(double probability) {
  const double words = std::round(probability * 4294967296.0);
  return words >= 4294967295.0 ? 4294967295u : static_cast<uint32_t>(words);
}

/// y = x times the factors of dropout, 0 or 1 / (1 - probability), of rows that stand for times of
/// one head.
struct ActivationDropout {
  int64_t rows = 0, columns = 0;
  uint64_t seed = 0;
  double probability = 0;
  const float* x = nullptr;  // [rows, columns]
  float* y = nullptr;        // [rows, columns]
};
TESSERA_LOOP(activation_dropout, ActivationDropout);

}  // namespace tessera::ops::cpu
