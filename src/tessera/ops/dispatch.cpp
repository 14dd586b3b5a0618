#include "tessera/ops/dispatch.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace tessera::ops {

const cpu::Loops* fused_loops(std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& tensor : tensors)
    if (tensor.defined() && (!tensor.device().is_cpu() || tensor.scalar_type() != at::kFloat))
      return nullptr;
  return cpu::loops();
}

const cpu::Loops* contiguous_loops(std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& tensor : tensors)
    if (tensor.defined() && !tensor.is_contiguous()) return nullptr;
  return fused_loops(tensors);
}

const cpu::Loops* product_loops(Precision precision) {
  const bool rounds = precision == Precision::kBFloat16 && cpu::bfloat16_loops();
  return rounds ? cpu::bfloat16_loops() : cpu::loops();
}

bool recorded(std::initializer_list<at::Tensor> tensors) {
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
      ": second derivatives of the fused op do not exist; use double tensors, for which the "
      "op is composed of differentiable ones");
}

}  // namespace tessera::ops
