#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>

#include "tessera/ops/cpu/int8/int8_products.h"
#include "tessera/ops/cpu/loops.h"
#include "tessera/ops/cpu/sequence.h"
#include "tessera/ops/cpu/softmax_read/softmax_read.h"
#include "tessera/ops/cpu/weight_rows.h"
#include "tessera/ops/number_formats.h"

namespace tessera::ops {

// The one place that decides whether an op runs a loop of ops/cpu or is composed of tensor
// functions: no other file asks for a device.

/// The loops, where every defined tensor is a float tensor on a CPU that has loops. Null otherwise.
const cpu::Loops* loops_for(std::initializer_list<at::Tensor> tensors);

/// Rows of a matrix up to which reading the other matrix once is all the time that a product takes:
/// the sequences that are generated side by side. Packing that matrix would cost more than it
/// saves.
constexpr int64_t kFewRows = 16;

/// The loops, where every defined tensor is also contiguous and there are 1 to kFewRows rows. The
/// weights, likewise contiguous on the CPU, may be of any WeightType, all of the same.
const cpu::Loops* loops_for_few_rows(int64_t rows, std::initializer_list<at::Tensor> tensors,
                                     std::initializer_list<at::Tensor> weights = {});

/// Contiguous weights of any WeightType as the loops see them. The tensor must outlive the view.
cpu::WeightRows weight_rows(const at::Tensor& weight);

/// The loops for products with weights of 8 bits, where x is a float tensor on the CPU and the
/// weight is such; null otherwise, or where this processor has none.
const cpu::Int8Loops* loops_for_int8(const at::Tensor& x, const at::Tensor& weight);

/// The loops of softmax reads with matrix products of this precision. Where the processor has none
/// for bfloat16, those in float do the work. Call it only where loops_for gave some.
const cpu::SoftmaxReadLoops& read_loops(Precision precision);

/// Whether autograd may ask for the gradient of any of these. Where it will not, an op need not
/// record itself, which costs more than a short loop.
bool needs_gradient(std::initializer_list<at::Tensor> tensors);

/// `x` itself if its last dimension is contiguous, else a copy.
at::Tensor with_contiguous_rows(const at::Tensor& x);

/// A [B, T, H, D] tensor with contiguous rows as the loops see it. The tensor must outlive the
/// view.
cpu::Sequence sequence_of(const at::Tensor& x);

/// Throws where the gradient of a gradient is asked for, which the loops do not compute.
void check_differentiated_once(const char* op);

}  // namespace tessera::ops
