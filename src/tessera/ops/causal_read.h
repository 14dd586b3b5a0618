#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tessera/ops/dropout.h"
#include "tessera/ops/number_formats.h"

namespace tessera::ops {

// The read behind kernel_smoothing() and causal_attention() (ops/memory_read.h), for memories that
// read otherwise. Those two check their arguments, these functions do not.

/// What distinguishes the causal softmax reads from one another.
struct CausalReadOptions {
  double scale = 1;    ///< on the products of query and key
  int64_t lag = 0;     ///< time t reads the pairs i <= t - lag; below 0 after earlier pairs
  int64_t window = 0;  ///< of these the last ones, i > t - lag - window; 0 leaves them all
  at::Tensor alibi_slopes = {};  ///< [H] or undefined: adds -slope_h * (t - i) to the scores
  Dropout dropout = {};
  Precision precision = Precision::kFloat32;
};

/// Each query's softmax over the pairs that it may read:
///   y_t = sum_{i <= t - lag} softmax_i(scale * q_t . k_i - slope_h * (t - i)) v_i,
/// zero where there is no such i. queries [B, T, H, D], keys, values [B, N, H, D] -> [B, T, H, D];
/// the pairs may be of any WeightType (ops/weights.h), of which only floats have a gradient. Under
/// a window N must reach so far that every time from the lag on has a pair in its window.
at::Tensor causal_read(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                       const CausalReadOptions& options);

}  // namespace tessera::ops
