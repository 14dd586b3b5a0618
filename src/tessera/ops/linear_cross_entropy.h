#pragma once

#include <ATen/core/Tensor.h>

#include "tessera/ops/number_formats.h"

namespace tessera::ops {

/// Mean cross entropy (nats) of targets under logits = logit_scale * hidden embedding^T, computed
/// in chunks of rows, so that the [N, V] logits never exist whole. hidden [N, C], embedding [V, C],
/// targets [N] int64, each in [0, V) or ignore_index (such rows count neither in the sum nor in
/// the number of rows) -> scalar; 0 when no row counts. Differentiable, once, in hidden and
/// embedding: where a gradient will be wanted it is computed in the same pass, with three matrix
/// products in all. In bfloat16 the logits are rounded, too. Throws UsageError on a shape or dtype
/// mismatch, V = 0, or a target outside [0, V); targets on a device other than the CPU are not
/// checked, so that the host need not wait for it.
at::Tensor linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& embedding,
                                double logit_scale, const at::Tensor& targets,
                                int64_t ignore_index = -100,
                                Precision precision = Precision::kFloat32);

/// The same loss row by row, [N], 0 where ignored; no gradient. For evaluation by position. The
/// embedding may be of any WeightType (ops/weights.h).
at::Tensor linear_cross_entropy_per_row(const at::Tensor& hidden, const at::Tensor& embedding,
                                        double logit_scale, const at::Tensor& targets,
                                        int64_t ignore_index = -100,
                                        Precision precision = Precision::kFloat32);

}  // namespace tessera::ops
