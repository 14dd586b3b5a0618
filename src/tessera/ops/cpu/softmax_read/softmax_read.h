#pragma once

#include <cstdint>

#include "tessera/ops/cpu/loop.h"
#include "tessera/ops/cpu/tensor_views.h"

/// Declares a loop whose matrix products are in float, and `rounded_<name>`, for which they have
/// bfloat16 operands and float sums (AVX-512 with dot products in bfloat16, AMX).
#define TESSERA_READ_LOOP(name, Arguments)                                                    \
  TESSERA_LOOP(name, Arguments);                                                              \
  TESSERA_X86(TESSERA_BUILD(avx512bf16, name, Arguments) TESSERA_BUILD(amx, name, Arguments)) \
  inline constexpr simd::Loop<Arguments, 0 TESSERA_X86(+2)> rounded_##name = {                \
      TESSERA_X86({{simd::InstructionSet::kAvx512BFloat16, avx512bf16::name},                 \
                   {simd::InstructionSet::kAmx, amx::name}})}

namespace tessera::ops::cpu {

/// Softmax reads  y_t = sum_i softmax_i(scale * q_t . k_i - slope * (t - i)) v_i  of T queries from
/// N pairs, for each of B batch rows and H heads; over all pairs, or over i <= t - lag (causal), of
/// which a window leaves the last ones.
struct SoftmaxRead {
  int64_t B = 0, T = 0, H = 0, D = 0, N = 0;
  Sequence queries;
  WeightSequence keys;    // [batch, N, H, D]; batch stride 0 where all batch rows share the pairs
  WeightSequence values;  // likewise
  float scale = 1;
  bool causal = false;
  int64_t lag = 0;
  int64_t window = 0;             // 0: without; only if causal
  const float* slopes = nullptr;  // [H] or null
  uint64_t dropout_seed = 0;
  double dropout_probability = 0;
};

/// output [B, T, H, D], and of the softmax denominators, exp(shifts + log_sums), both [B, H, T].
struct SoftmaxReadForward {
  SoftmaxRead read;
  Sequence output;
  float* shifts = nullptr;
  float* log_sums = nullptr;
};
TESSERA_READ_LOOP(softmax_read_forward, SoftmaxReadForward);

/// Gradients from grad_output and what the forward pass gave. The batch rows fall into `groups` of
/// equal size (the last may be smaller), each with its own gradient of keys and values
/// [groups, N, H, D]: a group is the unit of parallel work, and its sum is sequential, so that the
/// result does not depend on the number of threads.
struct SoftmaxReadBackward {
  SoftmaxRead read;
  Sequence output;
  const float* shifts = nullptr;
  const float* log_sums = nullptr;
  Sequence grad_output;
  int64_t groups = 0;
  Sequence grad_queries;
  Sequence grad_keys;
  Sequence grad_values;
};
TESSERA_READ_LOOP(softmax_read_backward, SoftmaxReadBackward);

}  // namespace tessera::ops::cpu
