#include "tessera/ops/cpu/gated_write.h"

#include "tessera/ops/cpu/tanh.h"
#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {
namespace {

bool worth_threads(const GatedWrite& f) {
  return f.B * f.D * f.D >= simd::kWorthThreads;
}

/// One row of a memory and of what becomes of it; `left` is the row's element.
void write_row(const GatedWrite& f, int64_t b, int64_t row) {
  const float left = f.left[b * f.D + row];
  const float* right = f.right + b * f.D;
  const float* memory = f.memory + (b * f.D + row) * f.D;
  float* input = f.gates + (b * f.D + row) * 2 * f.D;
  float* forget = input + f.D;
  const float* to_input = f.gate_input + b * 2 * f.D;
  const float* to_forget = to_input + f.D;
  float* written = f.written + (b * f.D + row) * f.D;
#pragma omp simd
  for (int64_t c = 0; c < f.D; ++c) {
    input[c] = logistic(input[c] + to_input[c]);
    forget[c] = logistic(forget[c] + to_forget[c]);
    written[c] = forget[c] * memory[c] + input[c] * hyperbolic_tangent(left * right[c]);
  }
}

void grad_row(const GatedWriteBackward& g, int64_t b, int64_t row) {
  const GatedWrite& f = g.forward;
  const float left = f.left[b * f.D + row];
  const float* right = f.right + b * f.D;
  const float* memory = f.memory + (b * f.D + row) * f.D;
  const float* input = f.gates + (b * f.D + row) * 2 * f.D;
  const float* forget = input + f.D;
  const float* grad = g.grad_written + (b * f.D + row) * f.D;
  float* grad_memory = g.grad_memory + (b * f.D + row) * f.D;
  float* grad_input = g.grad_gates + (b * f.D + row) * 2 * f.D;
  float* grad_forget = grad_input + f.D;
  float* grad_to_input = g.grad_gate_input + b * 2 * f.D;
  float* grad_to_forget = grad_to_input + f.D;
  float* grad_right = g.grad_right + b * f.D;
  float grad_left = 0;
#pragma omp simd reduction(+ : grad_left)
  for (int64_t c = 0; c < f.D; ++c) {
    const float candidate = hyperbolic_tangent(left * right[c]);
    grad_memory[c] = grad[c] * forget[c];
    grad_input[c] = grad[c] * candidate * input[c] * (1 - input[c]);
    grad_forget[c] = grad[c] * memory[c] * forget[c] * (1 - forget[c]);
    grad_to_input[c] += grad_input[c];
    grad_to_forget[c] += grad_forget[c];
    const float grad_product = grad[c] * input[c] * (1 - candidate * candidate);
    grad_left += grad_product * right[c];
    grad_right[c] += grad_product * left;
  }
  g.grad_left[b * f.D + row] = grad_left;
}

}  // namespace

void tanh(const Tanh& f) {
#pragma omp parallel for simd schedule(static) if (parallel : f.count >= simd::kWorthThreads)
  for (int64_t i = 0; i < f.count; ++i) f.y[i] = hyperbolic_tangent(f.x[i]);
}

void add_tanh_gradient(const TanhGradient& g) {
#pragma omp parallel for simd schedule(static) if (parallel : g.count >= simd::kWorthThreads)
  for (int64_t i = 0; i < g.count; ++i) g.grad_x[i] += (1 - g.y[i] * g.y[i]) * g.grad_y[i];
}

void gated_write_forward(const GatedWrite& f) {
#pragma omp parallel for schedule(static) if (worth_threads(f))
  for (int64_t b = 0; b < f.B; ++b)
    for (int64_t row = 0; row < f.D; ++row) write_row(f, b, row);
}

void gated_write_backward(const GatedWriteBackward& g) {
  const int64_t D = g.forward.D;
#pragma omp parallel for schedule(static) if (worth_threads(g.forward))
  for (int64_t b = 0; b < g.forward.B; ++b) {
    for (int64_t c = 0; c < D; ++c) g.grad_right[b * D + c] = 0;
    for (int64_t c = 0; c < 2 * D; ++c) g.grad_gate_input[b * 2 * D + c] = 0;
    for (int64_t row = 0; row < D; ++row) grad_row(g, b, row);
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
