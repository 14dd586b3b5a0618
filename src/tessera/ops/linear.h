#pragma once

#include <ATen/core/Tensor.h>

#include "tessera/ops/number_formats.h"

namespace tessera::ops {

/// Rows of a matrix up to which reading the other matrix once is all the time that a product takes:
/// the sequences that are generated side by side. Packing that matrix would cost more than it
/// saves. Where ops have loops, each of these rows has the bits that it has alone; more rows are
/// added up in another order.
constexpr int64_t kFewRows = 16;

/// y = x weight^T + bias. x [.., in], weight [out, in], bias [out] or undefined -> [.., out], in
/// the dtype of x. Under Precision::kBFloat16 the operands of the three products (this one and
/// those of the backward pass) are rounded to bfloat16, products accumulate in float and their
/// results are rounded once; x, the parameters and all gradients stay as they are. For a few rows
/// of floats without gradient, as in generation, nothing is rounded: reading the weight once, as it
/// is, costs less than rounding it. The weight may be of any WeightType (ops/weights.h). One of 8
/// bits is multiplied with x in whole numbers of 8 bits, a scale for every kWeightBlock of them,
/// where the processor has loops for that (AVX2), and with x as it is elsewhere. Differentiable in
/// all three, where the weight is of the dtype of x. Throws UsageError on a shape or dtype
/// mismatch.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {},
                  Precision precision = Precision::kFloat32);

}  // namespace tessera::ops
