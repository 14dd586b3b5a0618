#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace tessera::ops {

/// Dropout on the weights of a softmax read. There is no hidden state: whether the weight of
/// stored pair i at time t, batch row b, head h survives is a pure function of (seed, b, h, t, i).
/// Use a new seed in every step and layer.
struct Dropout {
  double probability = 0;  ///< share of the weights set to zero, in [0, 1)
  uint64_t seed = 0;
};

/// Throws UsageError unless 0 <= probability < 1. caller: "kernel_smoothing".
void check_dropout(const Dropout& dropout, const char* caller);

/// The factors that dropout puts on the weights [B, H, queries, keys]: 0 with the given
/// probability, else 1 / (1 - probability). Row r stands for time first_time + r.
at::Tensor dropout_factors(const Dropout& dropout, int64_t B, int64_t H, int64_t first_time,
                           int64_t queries, int64_t keys, const at::TensorOptions& options);

/// Dropout on activations: each element of x [.., C] is set to zero with the given probability and
/// else divided by 1 - probability; the mask is a pure function of (seed, row, column). Returns x
/// itself where the probability is 0. Differentiable in x. Throws UsageError unless
/// 0 <= probability < 1.
at::Tensor activation_dropout(const at::Tensor& x, const Dropout& dropout);

}  // namespace tessera::ops
