#pragma once

#include <cstdint>

#include "tessera/ops/cpu/int8/int8_products.h"
#include "tessera/ops/cpu/tensor_views.h"

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
TESSERA_INT8_LOOP(memory_read, MemoryRead);

// One step in time of a memory unit, for B sequences of H heads of D channels, C = H * D, as one
// loop over the heads.

/// A factor per head, exp(min(slope x_h, bound)).
struct HeadFactor {
  const float* x = nullptr;  // [H]
  float slope = 1;
  float bound = 0;
};

/// A linear map of C channels to C channels.
struct Projection {
  WeightRows weight;            // [C, C]
  const float* bias = nullptr;  // [C] or null
};

/// k = scale Norm(k̄), k̄ = W_φ x + decay k̄ of the step before.
struct KeyStep {
  Projection projection;
  HeadFactor decay;  // of |x|
  HeadFactor scale;
  float epsilon = 0;                      // of the norm
  const float* last_leaky_key = nullptr;  // [B, H, D] or null: 0
  float* leaky_key = nullptr;             // [B, H, D]
  float* key = nullptr;                   // [B, H, D]
};

/// The value of the step before, v = scale Norm(mix ṽ + (1 - mix) ṽ'), ṽ' = W_ψ x of this step.
struct ValueStep {
  Projection projection;
  const float* mix = nullptr;  // [H]
  HeadFactor scale;
  float epsilon = 0;                      // of the norm
  const float* last_raw_value = nullptr;  // [B, H, D]
  float* raw_value = nullptr;             // [B, H, D]
};

/// A contextual memory (Zhang et al. 2024, eq. 6 and 7): the pair of the step before, which is
/// complete now, is stored; then the step's key reads.
struct ContextStep {
  int64_t B = 0, H = 0, D = 0;
  const float* x = nullptr;  // [B, C]
  KeyStep key;
  ValueStep value;
  const float* last_key = nullptr;  // [B, H, D]
  int64_t capacity = 0;
  void* stored_keys = nullptr;    // [B, H, capacity, D] of stored_type
  void* stored_values = nullptr;  // likewise
  WeightType stored_type = WeightType::kFloat32;
  const int64_t* slots = nullptr;   // [B]: where the pair goes
  const int64_t* counts = nullptr;  // [B]: pairs held then

  Projection output;
  float* y = nullptr;  // [B, C]
};
TESSERA_INT8_LOOP(context_step, ContextStep);

/// A persistent memory (Zhang et al. 2024, appendix D.1): the mean of what P memories of M slots a
/// head answer, scaled.
struct PersistentStep {
  int64_t B = 0, H = 0, D = 0;
  int64_t P = 0, M = 0;
  const float* x = nullptr;  // [B, C]
  KeyStep key;
  WeightRows slot_keys;    // [P, H, M, D]
  WeightRows slot_values;  // [P, H, M, D], of the same type
  HeadFactor scale;
  Projection output;
  float* y = nullptr;  // [B, C]
};
TESSERA_INT8_LOOP(persistent_step, PersistentStep);

}  // namespace tessera::ops::cpu
