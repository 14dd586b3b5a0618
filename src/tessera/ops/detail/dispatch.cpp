#include "tessera/ops/detail/dispatch.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "tessera/ops/weights.h"

namespace tessera::ops {

const cpu::Loops* loops_for(std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& tensor : tensors)
    if (tensor.defined() && (!tensor.device().is_cpu() || tensor.scalar_type() != at::kFloat))
      return nullptr;
  return cpu::loops();
}

const cpu::Loops* loops_for_few_rows(int64_t rows, std::initializer_list<at::Tensor> tensors,
                                     std::initializer_list<at::Tensor> weights) {
  if (rows < 1 || rows > kFewRows) return nullptr;
  for (const at::Tensor& tensor : tensors)
    if (tensor.defined() && !tensor.is_contiguous()) return nullptr;
  for (const at::Tensor& weight : weights)
    if (!weight.device().is_cpu() || !weight.is_contiguous() ||
        weight.scalar_type() != weights.begin()->scalar_type())
      return nullptr;
  return loops_for(tensors);
}

cpu::WeightRows weight_rows(const at::Tensor& weight) {
  return {weight.data_ptr(), weight_type(weight)};
}

const cpu::Int8Loops* loops_for_int8(const at::Tensor& x, const at::Tensor& weight) {
  return weight_type(weight) == WeightType::kInt8 && loops_for({x}) ? cpu::int8_loops() : nullptr;
}

const cpu::SoftmaxReadLoops& read_loops(Precision precision) {
  const cpu::SoftmaxReadLoops* rounding =
      precision == Precision::kBFloat16 ? cpu::bfloat16_read_loops() : nullptr;
  return rounding ? *rounding : *cpu::float_read_loops();
}

bool needs_gradient(std::initializer_list<at::Tensor> tensors) {
  if (!at::GradMode::is_enabled()) return false;
  return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
    return tensor.defined() && tensor.requires_grad();
  });
}

at::Tensor with_contiguous_rows(const at::Tensor& x) {
  return x.stride(-1) == 1 || x.size(-1) <= 1 ? x : x.contiguous();
}

cpu::Sequence sequence_of(const at::Tensor& x) {
  return {x.data_ptr<float>(), x.stride(0), x.stride(1), x.stride(2)};
}

void check_differentiated_once(const char* op) {
  TORCH_CHECK(
      !at::GradMode::is_enabled(), op,
      ": float tensors on the CPU have no second derivatives; use double tensors, for which they "
      "exist");
}

}  // namespace tessera::ops
