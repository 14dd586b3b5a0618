#pragma once

#include <ATen/core/Tensor.h>

#include "tessera/ops/number_formats.h"

namespace tessera::ops {

// A matrix of weights is a tensor [.., rows, columns] of floating-point numbers, or the same in
// fewer bits: a BFloat16 tensor [.., rows, columns], or a Char tensor [.., rows,
// int8_row_bytes(columns)]. Its dtype tells which. linear() and the ops above it multiply with all
// of them; weights of fewer bits have no gradient.

/// The matrices whole numbers and scales apart, as files keep them.
struct Int8Weights {
  at::Tensor values;  ///< [.., rows, columns], Char, in [-127, 127]
  at::Tensor scales;  ///< [.., rows, weight_blocks(columns)], BFloat16, finite and at least 0
};

/// kFloat32 stands for every dtype of floating-point numbers but BFloat16.
WeightType weight_type(const at::Tensor& weight);

/// Float matrices [.., rows, columns] in numbers of this type, to nearest even; floats themselves
/// come back as they are. In kInt8 a block's scale is the smallest bfloat16 that is no less than
/// its largest magnitude / 127. Throws UsageError on a tensor of another dtype or without rows and
/// columns and, for kInt8, on weights that are NaN or infinite.
at::Tensor stored_as(const at::Tensor& weight, WeightType type);

/// The Char tensor of these numbers, and what it holds. Throws UsageError where shapes or
/// dtypes do not fit one another.
at::Tensor packed(const Int8Weights& weights);
Int8Weights unpacked(const at::Tensor& weight, int64_t columns);

/// Matrices of any type as floats [.., rows, columns]; floats themselves come back as they are.
/// Throws UsageError where a row does not have so many columns.
at::Tensor as_floats(const at::Tensor& weight, int64_t columns);

/// Rows `ids` (any shape, int64) of a table of `columns` columns: [.., columns], floats.
/// Differentiable in a table of floats.
at::Tensor embedding_rows(const at::Tensor& table, const at::Tensor& ids, int64_t columns);

}  // namespace tessera::ops
