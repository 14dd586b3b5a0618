#include "tessera/ops/detail/dispatch.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/version.h>

#include <algorithm>
#include <vector>

#include "tessera/ops/cpu/bfloat16/digit_products.h"
#include "tessera/ops/cpu/softmax_read/softmax_read.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// oneDNN has no such product for every processor, and says so only when it is asked for one that
/// is large enough for it.
bool cpu_multiplies_bfloat16() {
  static const bool multiplies = [] {
    const at::NoGradGuard no_grad;
    const at::Tensor square = at::ones({64, 64}, at::kBFloat16);
    try {
      at::matmul(square, square);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }();
  return multiplies;
}

}  // namespace

bool is_transformed(const at::Tensor& tensor) {
  return !tensor.has_storage() || tensor._fw_grad(/*level=*/0).defined();
}

bool loops_run(std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& tensor : tensors)
    if (tensor.defined() &&
        (!tensor.device().is_cpu() || tensor.scalar_type() != at::kFloat || is_transformed(tensor)))
      return false;
  return simd::instruction_set() >= simd::InstructionSet::kAvx2;
}

bool loops_run_few_rows(int64_t rows, std::initializer_list<at::Tensor> tensors,
                        std::initializer_list<at::Tensor> weights) {
  if (rows < 1 || rows > kFewRows) return false;
  for (const at::Tensor& tensor : tensors)
    if (tensor.defined() && !tensor.is_contiguous()) return false;
  for (const at::Tensor& weight : weights)
    if (!weight.device().is_cpu() || !weight.is_contiguous() ||
        weight.scalar_type() != weights.begin()->scalar_type())
      return false;
  return loops_run(tensors);
}

bool loops_multiply_many(const at::Tensor& x, const at::Tensor& weight) {
  if (!loops_run({x}) || !weight.device().is_cpu()) return false;
  if (weight_type(weight) == WeightType::kInt8) return true;
  return weight_type(weight) == WeightType::kBFloat16 && cpu::digit_products.runs_here() &&
         weight.size(-1) % cpu::kDigitColumns == 0;
}

bool softmax_reads_round() {
  return cpu::rounded_softmax_read_forward.runs_here();
}

void check_weight(const at::Tensor& weight, std::initializer_list<int64_t> sizes,
                  const at::Tensor& x, const char* what) {
  const bool fewer_bits = weight.defined() && x.scalar_type() == at::kFloat &&
                          weight_type(weight) != WeightType::kFloat32;
  if (!fewer_bits) return check_like(weight, sizes, x, what);
  const bool int8 = weight_type(weight) == WeightType::kInt8;
  std::vector<int64_t> stored(sizes);
  if (int8 && stored.back() >= 0) stored.back() = int8_row_bytes(stored.back());
  TESSERA_CHECK(sizes_fit(weight.sizes(), stored) && weight.device() == x.device(), what, " is ",
                weight.scalar_type(), " ", weight.sizes(), " on ", weight.device(), ", expected ",
                at::IntArrayRef(stored), int8 ? " (bytes of its rows with their scales)" : "",
                " on ", x.device());
}

at::Tensor as_multiplied_by(const at::Tensor& x, const at::Tensor& weight) {
  return weight.scalar_type() == x.scalar_type() ? weight : as_floats(weight, x.size(-1));
}

bool needs_gradient(std::initializer_list<at::Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
    return tensor.defined() &&
           ((at::GradMode::is_enabled() && tensor.requires_grad()) || is_transformed(tensor));
  });
}

void check_differentiated_once(const char* op) {
  TORCH_CHECK(
      !at::GradMode::is_enabled(), op,
      ": float tensors on the CPU have no second derivatives; use double tensors, for which they "
      "exist");
}

void save_dropout(AutogradContext* context, const Dropout& dropout) {
  context->saved_data["probability"] = dropout.probability;
  context->saved_data["seed"] = static_cast<int64_t>(dropout.seed);
}

Dropout saved_dropout(AutogradContext* context) {
  return {context->saved_data["probability"].toDouble(),
          static_cast<uint64_t>(context->saved_data["seed"].toInt())};
}

at::Tensor with_contiguous_rows(const at::Tensor& x) {
  return x.stride(-1) == 1 || x.size(-1) <= 1 ? x : x.contiguous();
}

cpu::Sequence sequence_of(const at::Tensor& x) {
  return {x.data_ptr<float>(), x.size(0),   x.size(1),   x.size(2),
          x.size(3),           x.stride(0), x.stride(1), x.stride(2)};
}

const float* floats_of(const at::Tensor& x) {
  return x.defined() ? x.data_ptr<float>() : nullptr;
}

cpu::WeightRows weight_rows(const at::Tensor& weight) {
  return {weight.data_ptr(), weight_type(weight)};
}

at::Tensor operand(const at::Tensor& x, Precision precision) {
  if (precision == Precision::kFloat32) return x;
  const at::Tensor rounded = x.to(at::kBFloat16);
  return x.is_cpu() && !cpu_multiplies_bfloat16() ? rounded.to(x.scalar_type()) : rounded;
}

at::Tensor rounded_matmul(const at::Tensor& a, const at::Tensor& b, Precision precision) {
  return at::matmul(operand(a, precision), operand(b, precision)).to(a.scalar_type());
}

void add_product(const at::Tensor& sum, const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() == sum.scalar_type())
    sum.addmm_(a, b);
  else
    sum.add_(at::mm(a, b));
}

bool torch_attention_runs(const at::Tensor& queries) {
  return TORCH_VERSION_MAJOR >= 2 && !queries.device().is_cpu() && queries.numel() > 0;
}

at::Tensor torch_attention(const at::Tensor& queries, const at::Tensor& keys,
                           const at::Tensor& values, double scale, bool causal,
                           Precision precision) {
#if TORCH_VERSION_MAJOR >= 2
  return at::scaled_dot_product_attention(operand(queries, precision), operand(keys, precision),
                                          operand(values, precision), {}, 0.0, causal, scale)
      .to(queries.scalar_type());
#else
  TORCH_CHECK(false, "torch_attention: LibTorch ", TORCH_VERSION, " has none");
#endif
}

}  // namespace tessera::ops
