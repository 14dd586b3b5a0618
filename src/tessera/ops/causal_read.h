#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tessera/ops/dropout.h"
#include "tessera/ops/number_formats.h"

namespace tessera::ops {

/// The read of a contextual memory (Zhang et al. 2024, eq. 7): Gaussian kernel smoothing over the
/// pairs stored so far, for keys of equal length a softmax without 1 / sqrt(D):
///   y_t = sum_{i < t} softmax_i(k_t . k_i) v_i,   y_1 = 0 (nothing is stored yet).
/// keys, values [B, T, H, D] (views of [B, T, C] are fine) -> [B, T, H, D]. The keys are the
/// queries too; their gradient is that of both roles. The dropout acts on the softmax weights.
/// Throws UsageError on a shape or dtype mismatch.
at::Tensor kernel_smoothing(const at::Tensor& keys, const at::Tensor& values,
                            const Dropout& dropout = {}, Precision precision = Precision::kFloat32);

/// Causal softmax attention, the present included:
///   y_t = sum_{i <= t} softmax_i(scale * q_t . k_i - slope_h * (t - i)) v_i.
/// queries, keys, values [B, T, H, D] -> [B, T, H, D], differentiable in all three. alibi_slopes
/// [H] (Press et al. 2022) are constants; undefined means none. The dropout acts on the softmax
/// weights. Throws UsageError on a shape or dtype mismatch, or slopes that require a gradient.
at::Tensor causal_attention(const at::Tensor& queries, const at::Tensor& keys,
                            const at::Tensor& values, double scale,
                            const at::Tensor& alibi_slopes = {}, const Dropout& dropout = {},
                            Precision precision = Precision::kFloat32);

/// The slopes [heads] of ALiBi's linear biases (Press et al. 2022, section 3), float on the CPU:
/// for heads = 2^n the geometric series 2^(-8/heads), 2^(-16/heads), …, 2^-8. For another number
/// the paper's text has no rule; the authors' code, which this follows, takes the series of the
/// next smaller power of two and fills up with every other slope of the series of twice that, from
/// its first on. Throws UsageError unless heads >= 1.
at::Tensor alibi_slopes(int64_t heads);

/// What distinguishes the causal softmax reads from one another.
struct CausalReadOptions {
  double scale = 1;    ///< on the products of query and key
  int64_t lag = 0;     ///< time t reads the pairs i <= t - lag; below 0 after earlier pairs
  int64_t window = 0;  ///< of these the last ones, i > t - lag - window; 0 leaves them all
  at::Tensor alibi_slopes = {};  ///< [H] or undefined: adds -slope_h * (t - i) to the scores
  Dropout dropout;
  Precision precision = Precision::kFloat32;
};

/// The read behind kernel_smoothing and causal_attention, which check their arguments:
///   y_t = sum_{i <= t - lag} softmax_i(scale * q_t . k_i - slope_h * (t - i)) v_i,
/// zero where there is no such i. queries [B, T, H, D], keys, values [B, N, H, D] -> [B, T, H, D];
/// the pairs may be of any WeightType (ops/weights.h), of which only floats have a gradient. Under
/// a window N must reach so far that every time from the lag on has a pair in its window.
at::Tensor causal_read(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                       const CausalReadOptions& options);

/// What such a read gives, and the logarithms of the sums that its softmaxes divide by, -infinity
/// where there is no pair to read.
struct CausalReading {
  at::Tensor values;    ///< [B, T, H, D]
  at::Tensor log_sums;  ///< [B, H, T]
};
CausalReading causal_reading(const at::Tensor& queries, const at::Tensor& keys,
                             const at::Tensor& values, const CausalReadOptions& options);

/// The reading of the pairs of both: each is a mean, which counts as its sum says. Where neither
/// has read a pair the result is not a number.
at::Tensor joined(const CausalReading& a, const CausalReading& b);

}  // namespace tessera::ops
