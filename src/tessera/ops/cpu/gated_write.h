#pragma once

#include <cstdint>

namespace tessera::ops::cpu {

/// y = tanh(x).
struct Tanh {
  int64_t count = 0;
  const float* x = nullptr;
  float* y = nullptr;
};

/// grad_x += (1 - y^2) grad_y, with y = tanh(x).
struct TanhGradient {
  int64_t count = 0;
  const float* y = nullptr;
  const float* grad_y = nullptr;
  float* grad_x = nullptr;
};

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

/// `forward` with I, F in its gates. grad_gates: before the logistic function. grad_memory: the
/// part that does not pass through the gates.
struct GatedWriteBackward {
  GatedWrite forward;
  const float* grad_written = nullptr;
  float* grad_gates = nullptr;
  float* grad_memory = nullptr;
  float* grad_left = nullptr;
  float* grad_right = nullptr;
  float* grad_gate_input = nullptr;
};

}  // namespace tessera::ops::cpu
