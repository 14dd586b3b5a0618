#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>

#include "tessera/ops/cpu/loops.h"
#include "tessera/ops/cpu/sequence.h"
#include "tessera/ops/precision.h"

namespace tessera::ops {

/// The fused loops where they can do the work: every defined tensor is a float tensor on a CPU that
/// has them. Null otherwise.
const cpu::Loops* fused_loops(std::initializer_list<at::Tensor> tensors);

/// The same where every defined tensor is contiguous as well.
const cpu::Loops* contiguous_loops(std::initializer_list<at::Tensor> tensors);

/// Rows of a matrix for which reading the other matrix once is all the time that a product takes:
/// the sequences that are generated side by side. Packing that matrix would cost more than it
/// saves.
constexpr int64_t kFewRows = 16;

/// Fused loops for products of this precision: where the CPU has none for bfloat16, those in float
/// stand in. To be called only where fused_loops gave some.
const cpu::Loops* product_loops(Precision precision);

/// Whether autograd will ask for the way back through any of these. Where it will not, an op need
/// not tell it of itself, which costs more than a short loop.
bool recorded(std::initializer_list<at::Tensor> tensors);

/// `x` itself if its last dimension is contiguous, else a copy.
at::Tensor with_contiguous_rows(const at::Tensor& x);

/// A [B, T, H, D] tensor with contiguous rows as the loops see it. The tensor must outlive the
/// view.
cpu::Sequence sequence_of(const at::Tensor& x);

/// Throws where a fused op's backward pass is asked for a graph of its own (second derivatives).
void check_differentiated_once(const char* op);

}  // namespace tessera::ops
