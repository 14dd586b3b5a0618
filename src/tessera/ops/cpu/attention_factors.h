#pragma once

#include <cstdint>

namespace tessera::ops::cpu {

/// factor[b, j, s, d] = tanh(query[b, s, d] * key[b, j, d]).
struct AttentionFactors {
  int64_t B = 0, queries = 0, keys = 0, D = 0;
  const float* query = nullptr;  // [B, queries, D]
  const float* key = nullptr;    // [B, keys, D]
  float* factor = nullptr;       // [B, keys, queries, D]
};

struct AttentionFactorsBackward {
  AttentionFactors forward;
  const float* grad_factor = nullptr;
  float* grad_query = nullptr;
  float* grad_key = nullptr;
};

}  // namespace tessera::ops::cpu
