#pragma once

#include <cstdint>

#include "tessera/ops/cpu/loop.h"

namespace tessera::ops::cpu {

// The operators of STM: outer-product attention, and the gated write of its item memory.

/// factor[b, j, s, d] = tanh(query[b, s, d] * key[b, j, d]).
struct AttentionFactors {
  int64_t B = 0, queries = 0, keys = 0, D = 0;
  const float* query = nullptr;  // [B, queries, D]
  const float* key = nullptr;    // [B, keys, D]
  float* factor = nullptr;       // [B, keys, queries, D]
};
TESSERA_LOOP(attention_factors, AttentionFactors);

struct AttentionFactorsGradient {
  AttentionFactors forward;
  const float* grad_factor = nullptr;
  float* grad_query = nullptr;
  float* grad_key = nullptr;
};
TESSERA_LOOP(attention_factors_gradient, AttentionFactorsGradient);

/// y = tanh(x).
struct Tanh {
  int64_t count = 0;
  const float* x = nullptr;
  float* y = nullptr;
};
TESSERA_LOOP(tanh, Tanh);

/// grad_x += (1 - y^2) grad_y, with y = tanh(x).
struct TanhGradient {
  int64_t count = 0;
  const float* y = nullptr;
  const float* grad_y = nullptr;
  float* grad_x = nullptr;
};
TESSERA_LOOP(add_tanh_gradient, TanhGradient);

/// I, F = logistic(gates + gate_input) in place of the gates, then
/// written = F memory + I tanh(left ⊗ right).
struct GatedWrite {
  int64_t B = 0, D = 0;
  const float* memory = nullptr;      // [B, D, D]
  const float* left = nullptr;        // [B, D]
  const float* right = nullptr;       // [B, D]
  const float* gate_input = nullptr;  // [B, 2D]
  float* gates = nullptr;             // [B, D, 2D]
  float* written = nullptr;           // [B, D, D]
};
TESSERA_LOOP(gated_write, GatedWrite);

/// `forward` with I, F in its gates. grad_gates: before the logistic function. grad_memory: the
/// part that does not pass through the gates.
struct GatedWriteGradient {
  GatedWrite forward;
  const float* grad_written = nullptr;
  float* grad_gates = nullptr;
  float* grad_memory = nullptr;
  float* grad_left = nullptr;
  float* grad_right = nullptr;
  float* grad_gate_input = nullptr;
};
TESSERA_LOOP(gated_write_gradient, GatedWriteGradient);

}  // namespace tessera::ops::cpu
