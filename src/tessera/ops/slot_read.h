#pragma once

#include <ATen/core/Tensor.h>

#include "tessera/ops/dropout.h"
#include "tessera/ops/number_formats.h"

namespace tessera::ops {

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
/// drops out with a mask of its own. Slots of 8 bits are read with products of bfloat16 whatever
/// the precision, where the processor has them: twice as fast, and as exact as such slots are.
at::Tensor mean_slot_read(const at::Tensor& queries, const at::Tensor& slot_keys,
                          const at::Tensor& slot_values, const at::Tensor& scale,
                          const Dropout& dropout = {}, Precision precision = Precision::kFloat32);

}  // namespace tessera::ops
