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
/// Floats on the CPU: the gradient of a score is off by some 1e-7 |dy_t| |v_i|, also where one pair
/// has all the weight and it is 0. An infinite value, or one that is not a number, may spoil steps
/// before it. Throws UsageError on a shape or dtype mismatch.
at::Tensor kernel_smoothing(const at::Tensor& keys, const at::Tensor& values,
                            const Dropout& dropout = {}, Precision precision = Precision::kFloat32);

/// Causal softmax attention, the present included:
///   y_t = sum_{i <= t} softmax_i(scale * q_t . k_i - slope_h * (t - i)) v_i.
/// queries, keys, values [B, T, H, D] -> [B, T, H, D], differentiable in all three. alibi_slopes
/// [H] (Press et al. 2022) are constants; undefined means none. The dropout acts on the softmax
/// weights. Rounding and values that are not finite: as kernel_smoothing(). Throws UsageError on a
/// shape or dtype mismatch, or slopes that require a gradient.
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

/// What one read of a memory gives.
struct MemoryReading {
  at::Tensor value;    ///< [B, H, D]
  at::Tensor weights;  ///< [B, H, N]: the softmax weights; zero beyond a row's count
};

/// Reads stored pairs with one query per head: the step of generation, one token at a time:
///   y = sum_{i < count} softmax_i(q . k_i) v_i,   0 where nothing is stored.
/// query [B, H, D], keys and values [B, H, N, D] -> y and the weights. Each head's pairs lie one
/// after the other, so that a read streams through memory; a view narrow(2, 0, N) of a larger store
/// [B, H, capacity, D] is read in place. counts [B] int64 (on the CPU), each in [0, N], says how
/// many pairs every batch row holds; undefined means N. A scale belongs on the query. Beside a
/// query of floats the pairs may be of any WeightType (ops/weights.h), keys and values of the same.
/// No gradient. Throws UsageError on a shape or dtype mismatch or a count outside [0, N].
MemoryReading memory_read(const at::Tensor& query, const at::Tensor& keys, const at::Tensor& values,
                          const at::Tensor& counts = {});

/// The read of a persistent memory (Zhang et al. 2024, appendix D.1): a softmax over all M learned
/// slots of the head, without mask or 1 / sqrt(D):
///   y_t = sum_m softmax_m(q_t . slot_key_m) slot_value_m.
/// queries [B, T, H, D], slot_keys and slot_values [H, M, D] -> [B, T, H, D]; differentiable in all
/// three; M = 0 gives 0. The dropout acts on the softmax weights. For float tensors on the CPU the
/// weights [B, T, H, M] never exist whole. Throws UsageError on a shape or dtype mismatch.
at::Tensor slot_read(const at::Tensor& queries, const at::Tensor& slot_keys,
                     const at::Tensor& slot_values, const Dropout& dropout = {},
                     Precision precision = Precision::kFloat32);

/// The mean of what P such memories answer, times a factor per head: slot_keys and slot_values
/// [P, H, M, D], P > 0, of any WeightType (ops/weights.h), scale [H] -> [B, T, H, D]. Each memory
/// drops out with a mask of its own. Slots of fewer bits are read with products of bfloat16
/// whatever the precision, where the processor has them: twice as fast, as exact as the slots.
/// Throws UsageError on a shape or dtype mismatch.
at::Tensor mean_slot_read(const at::Tensor& queries, const at::Tensor& slot_keys,
                          const at::Tensor& slot_values, const at::Tensor& scale,
                          const Dropout& dropout = {}, Precision precision = Precision::kFloat32);

}  // namespace tessera::ops
