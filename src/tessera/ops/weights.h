#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>

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

WeightType weight_type(const at::Tensor& weight);

/// Float matrices [.., rows, columns] in numbers of this type, to nearest even. A block's scale is
/// the smallest bfloat16 that is no less than its largest magnitude / 127. Throws UsageError
/// on a tensor of another dtype or without rows and columns; rounded_to_int8 also on weights that
/// are NaN or infinite.
at::Tensor stored_as(const at::Tensor& weight, WeightType type);
Int8Weights rounded_to_int8(const at::Tensor& weight);

/// The Char tensor of these numbers, and what it holds. Throws UsageError where shapes or
/// dtypes do not fit one another.
at::Tensor packed(const Int8Weights& weights);
Int8Weights unpacked(const at::Tensor& weight, int64_t columns);

/// Matrices of any type as floats [.., rows, columns]; floats themselves come back as they are.
/// Throws UsageError where a row does not have so many columns.
at::Tensor as_floats(const at::Tensor& weight, int64_t columns);
/// Matrices that x [.., columns] is multiplied by: those of its own dtype as they are, others as
/// floats.
at::Tensor as_multiplied_by(const at::Tensor& x, const at::Tensor& weight);

/// Rows `ids` (any shape, int64) of a table of `columns` columns: [.., columns], floats.
/// Differentiable in a table of floats.
at::Tensor embedding_rows(const at::Tensor& table, const at::Tensor& ids, int64_t columns);

/// Throws UsageError unless `weight` has these sizes (-1 allows any), counted in weights, and
/// is of the dtype and device of x or, where x is of floats, keeps them in fewer bits. what:
/// "linear: weight".
void check_weight(const at::Tensor& weight, std::initializer_list<int64_t> sizes,
                  const at::Tensor& x, const char* what);

}  // namespace tessera::ops
