#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

#include <initializer_list>

#include "tessera/ops/cpu/tensor_views.h"
#include "tessera/ops/dropout.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/number_formats.h"

namespace tessera::ops {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The one place that decides whether an op runs a loop of ops/cpu or is composed of tensor
// functions. Other files ask for a device only to widen weights of 8 bits and to look at values.

/// Whether the derivative is taken by torch.func or forward, with a tangent: the loops know only
/// autograd's backward pass, so that an op is composed.
bool is_transformed(const at::Tensor& tensor);

/// Whether the loops run: every defined tensor is a float tensor on a CPU that has loops, and is
/// not transformed.
bool loops_run(std::initializer_list<at::Tensor> tensors);

/// Whether the loops over a few rows run: every defined tensor is also contiguous and there are 1
/// to kFewRows rows. The weights, likewise contiguous on the CPU, may be of any WeightType, all of
/// the same.
bool loops_run_few_rows(int64_t rows, std::initializer_list<at::Tensor> tensors,
                        std::initializer_list<at::Tensor> weights = {});

/// Whether loops multiply many vectors with these weights of fewer bits: those of 8 bits, and where
/// there is a tile unit those of 16. x is then a float tensor on the CPU.
bool loops_multiply_many(const at::Tensor& x, const at::Tensor& weight);

/// Whether softmax reads can round the operands of their products to bfloat16 here.
bool softmax_reads_round();

/// Throws UsageError unless `weight` has these sizes (-1 allows any), counted in weights, and
/// is of the dtype and device of x or, where x is of floats, keeps them in fewer bits. what:
/// "linear: weight".
void check_weight(const at::Tensor& weight, std::initializer_list<int64_t> sizes,
                  const at::Tensor& x, const char* what);

/// Matrices that x [.., columns] is multiplied by: those of its own dtype as they are, others as
/// floats.
at::Tensor as_multiplied_by(const at::Tensor& x, const at::Tensor& weight);

/// Whether a derivative may be asked for in any of these. Where it will not, an op need not record
/// itself, which costs more than a short loop.
bool needs_gradient(std::initializer_list<at::Tensor> tensors);

/// Throws where the gradient of a gradient is asked for, which the loops do not compute.
void check_differentiated_once(const char* op);

/// Keeps a dropout for the backward pass, which draws the mask again.
void save_dropout(AutogradContext* context, const Dropout& dropout);
Dropout saved_dropout(AutogradContext* context);

// Tensors as the loops see them; they must outlive these views.

/// `x` itself if its last dimension is contiguous, else a copy.
at::Tensor with_contiguous_rows(const at::Tensor& x);

/// A [B, T, H, D] tensor with contiguous rows.
cpu::Sequence sequence_of(const at::Tensor& x);

/// Contiguous floats, or null where the tensor is undefined.
const float* floats_of(const at::Tensor& x);

/// Contiguous weights of any WeightType.
cpu::WeightRows weight_rows(const at::Tensor& weight);

/// `x` as an operand of a product: rounded as `precision` says. Where LibTorch does not multiply
/// numbers in bfloat16 (on 64-bit Arm without such instructions), in its own dtype again.
at::Tensor operand(const at::Tensor& x, Precision precision);

/// a @ b, its operands rounded as `precision` says, in the dtype of `a`: for composed reads.
at::Tensor rounded_matmul(const at::Tensor& a, const at::Tensor& b, Precision precision);

/// sum += a b, all of them matrices; a and b may be rounded already.
void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b);

/// Whether LibTorch's own attention makes composed reads here: from LibTorch 2 on, on other
/// devices. It forms no matrix of scores.
bool torch_attention_runs(const at::Tensor& queries);

/// softmax(scale queries keysᵀ) values, [B, H, rows, D] of keys and values [B, H, N, D]; where
/// `causal`, row t reads the first t + 1. Operands and result are rounded as `precision` says.
/// Call it only where torch_attention_runs.
at::Tensor torch_attention(const at::Tensor& queries, const at::Tensor& keys,
                           const at::Tensor& values, double scale, bool causal,
                           Precision precision);

}  // namespace tessera::ops
