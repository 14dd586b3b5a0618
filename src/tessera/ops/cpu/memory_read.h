#pragma once

#include <cstdint>

namespace tessera::ops::cpu {

/// value [B, H, D] = sum over the first count pairs of softmax(query . key) value; weights [B, H,
/// N] receives the softmax weights, zero beyond the count.
struct MemoryRead {
  int64_t B = 0, H = 0, D = 0, N = 0;
  const float* query = nullptr;  // [B, H, D]
  const float* keys = nullptr;   // [B, H, N, D], the last two contiguous
  int64_t key_batch_stride = 0, key_head_stride = 0;
  const float* values = nullptr;
  int64_t value_batch_stride = 0, value_head_stride = 0;
  const int64_t* counts = nullptr;  // [B], or null: N
  float* value = nullptr;
  float* weights = nullptr;
};

}  // namespace tessera::ops::cpu
