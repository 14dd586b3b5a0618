#pragma once

#include <cstdint>

namespace tessera::ops::cpu {

/// y = x times the factors of dropout, 0 or 1 / (1 - probability), of rows that stand for times of
/// one head.
struct ActivationDropout {
  int64_t rows = 0, columns = 0;
  uint64_t seed = 0;
  double probability = 0;
  const float* x = nullptr;  // [rows, columns]
  float* y = nullptr;        // [rows, columns]
};

}  // namespace tessera::ops::cpu
