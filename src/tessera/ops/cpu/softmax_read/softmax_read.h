#pragma once

#include <cstdint>

#include "tessera/ops/cpu/sequence.h"

namespace tessera::ops::cpu {

/// Softmax reads  y_t = sum_i softmax_i(scale * q_t . k_i - slope * (t - i)) v_i  of T queries from
/// N pairs, for each of B batch rows and H heads; over all pairs, or over i <= t - lag (causal).
struct SoftmaxRead {
  int64_t B = 0, T = 0, H = 0, D = 0, N = 0;
  Sequence queries;
  Sequence keys;    // [batch, N, H, D]; batch stride 0 where all batch rows share the pairs
  Sequence values;  // likewise
  float scale = 1;
  bool causal = false;
  int64_t lag = 0;
  const float* slopes = nullptr;  // [H] or null
  uint64_t dropout_seed = 0;
  double dropout_probability = 0;
};

/// output [B, T, H, D] and log_sums [B, H, T], the logarithms of the softmax denominators.
struct SoftmaxReadForward {
  SoftmaxRead read;
  Sequence output;
  float* log_sums = nullptr;
};

/// Gradients from grad_output and what the forward pass gave. The batch rows fall into `groups` of
/// equal size (the last may be smaller), each with its own gradient of keys and values
/// [groups, N, H, D]: a group is the unit of parallel work, and its sum is sequential, so that the
/// result does not depend on the number of threads.
struct SoftmaxReadBackward {
  SoftmaxRead read;
  Sequence output;
  const float* log_sums = nullptr;
  Sequence grad_output;
  int64_t groups = 0;
  Sequence grad_queries;
  Sequence grad_keys;
  Sequence grad_values;
};

/// The loops as one instruction set has them. They run on OpenMP's threads; their results do not
/// depend on how many those are.
struct SoftmaxReadLoops {
  void (*forward)(const SoftmaxReadForward&);
  void (*backward)(const SoftmaxReadBackward&);
};

/// The fastest loops whose matrix products are in float (AVX-512, else AVX2), or null.
const SoftmaxReadLoops* float_read_loops();

/// The fastest loops whose matrix products have bfloat16 operands and float sums (AMX, else AVX-512
/// with dot products in bfloat16), or null.
const SoftmaxReadLoops* bfloat16_read_loops();

}  // namespace tessera::ops::cpu
