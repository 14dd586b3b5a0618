#include "tessera/ops/cpu/two_memory.h"

#include "tessera/simd/threads.h"

namespace tessera::ops::cpu::TESSERA_ISA {
namespace {

// Scalar functions without branches, which loops marked `omp simd` turn into vectors.

/// tanh(x), absolute error below 3e-7; NaN stays NaN. A quotient of polynomials in x, of degree 13
/// over 6, with the coefficients of Eigen's float tanh.
float hyperbolic_tangent(float x) {
  constexpr float kLast = 7.90531110763549805f;  // beyond, tanh is 1 in float
  const float below = x > kLast ? kLast : x;
  const float y = below < -kLast ? -kLast : below;
  const float square = y * y;
  float numerator = -2.76076847742355e-16f * square + 2.00018790482477e-13f;
  numerator = numerator * square - 8.60467152213735e-11f;
  numerator = numerator * square + 5.12229709037114e-08f;
  numerator = numerator * square + 1.48572235717979e-05f;
  numerator = numerator * square + 6.37261928875436e-04f;
  numerator = numerator * square + 4.89352455891786e-03f;
  float denominator = 1.19825839466702e-06f * square + 1.18534705686654e-04f;
  denominator = denominator * square + 2.26843463243900e-03f;
  denominator = denominator * square + 4.89352518554385e-03f;
  return y * numerator / denominator;
}

/// 1 / (1 + e^-x), absolute error below 3e-7.
float logistic(float x) {
  return 0.5f + 0.5f * hyperbolic_tangent(0.5f * x);
}

bool worth_threads(const AttentionFactors& f) {
  return f.B * f.keys * f.queries * f.D >= simd::kWorthThreads;
}

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

void grad_row(const GatedWriteGradient& g, int64_t b, int64_t row) {
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

void attention_factors(const AttentionFactors& f) {
#pragma omp parallel for schedule(static) if (worth_threads(f))
  for (int64_t b = 0; b < f.B; ++b)
    for (int64_t j = 0; j < f.keys; ++j) {
      const float* key = f.key + (b * f.keys + j) * f.D;
      for (int64_t s = 0; s < f.queries; ++s) {
        const float* query = f.query + (b * f.queries + s) * f.D;
        float* factor = f.factor + ((b * f.keys + j) * f.queries + s) * f.D;
#pragma omp simd
        for (int64_t d = 0; d < f.D; ++d) factor[d] = hyperbolic_tangent(query[d] * key[d]);
      }
    }
}

void attention_factors_gradient(const AttentionFactorsGradient& g) {
  const AttentionFactors& f = g.forward;
#pragma omp parallel for schedule(static) if (worth_threads(f))
  for (int64_t b = 0; b < f.B; ++b) {
    float* grad_queries = g.grad_query + b * f.queries * f.D;
    for (int64_t i = 0; i < f.queries * f.D; ++i) grad_queries[i] = 0;
    for (int64_t j = 0; j < f.keys; ++j) {
      const float* key = f.key + (b * f.keys + j) * f.D;
      float* grad_key = g.grad_key + (b * f.keys + j) * f.D;
      for (int64_t d = 0; d < f.D; ++d) grad_key[d] = 0;
      for (int64_t s = 0; s < f.queries; ++s) {
        const float* query = f.query + (b * f.queries + s) * f.D;
        const int64_t row = ((b * f.keys + j) * f.queries + s) * f.D;
        const float *factor = f.factor + row, *grad = g.grad_factor + row;
        float* grad_query = grad_queries + s * f.D;
#pragma omp simd
        for (int64_t d = 0; d < f.D; ++d) {
          const float grad_product = grad[d] * (1 - factor[d] * factor[d]);
          grad_query[d] += grad_product * key[d];
          grad_key[d] += grad_product * query[d];
        }
      }
    }
  }
}

void tanh(const Tanh& f) {
#pragma omp parallel for simd schedule(static) if (parallel : f.count >= simd::kWorthThreads)
  for (int64_t i = 0; i < f.count; ++i) f.y[i] = hyperbolic_tangent(f.x[i]);
}

void add_tanh_gradient(const TanhGradient& g) {
#pragma omp parallel for simd schedule(static) if (parallel : g.count >= simd::kWorthThreads)
  for (int64_t i = 0; i < g.count; ++i) g.grad_x[i] += (1 - g.y[i] * g.y[i]) * g.grad_y[i];
}

void gated_write(const GatedWrite& f) {
#pragma omp parallel for schedule(static) if (worth_threads(f))
  for (int64_t b = 0; b < f.B; ++b)
    for (int64_t row = 0; row < f.D; ++row) write_row(f, b, row);
}

void gated_write_gradient(const GatedWriteGradient& g) {
  const int64_t D = g.forward.D;
#pragma omp parallel for schedule(static) if (worth_threads(g.forward))
  for (int64_t b = 0; b < g.forward.B; ++b) {
    for (int64_t c = 0; c < D; ++c) g.grad_right[b * D + c] = 0;
    for (int64_t c = 0; c < 2 * D; ++c) g.grad_gate_input[b * 2 * D + c] = 0;
    for (int64_t row = 0; row < D; ++row) grad_row(g, b, row);
  }
}

}  // namespace tessera::ops::cpu::TESSERA_ISA
