#pragma once

#include <cstdint>

#include "tessera/ops/cpu/weight_rows.h"

namespace tessera::ops::cpu {

/// value [B, H, D] = sum over the first count pairs of softmax(query . key) value; weights [B, H,
/// N] receives the softmax weights, zero beyond the count. Strides count elements of the type.
struct MemoryRead {
  int64_t B = 0, H = 0, D = 0, N = 0;
  const float* query = nullptr;  // [B, H, D]
  WeightRows keys;               // [B, H, N, D], the rows of a head one after the other
  int64_t key_batch_stride = 0, key_head_stride = 0;
  WeightRows values;  // likewise, of the same type
  int64_t value_batch_stride = 0, value_head_stride = 0;
  const int64_t* counts = nullptr;  // [B], or null: N
  float* value = nullptr;
  float* weights = nullptr;
};

}  // namespace tessera::ops::cpu
