#include "tessera/ops/linear.h"

#include <ATen/ATen.h>

#include <vector>

#include "tessera/ops/check_sequence.h"
#include "tessera/ops/cpu/row_products.h"
#include "tessera/ops/dispatch.h"
#include "tessera/ops/rounded_matmul.h"

namespace tessera::ops {
namespace {

at::Tensor fused(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor from = x.contiguous(), weights = weight.contiguous();
  const at::Tensor biases = bias.defined() ? bias.contiguous() : bias;
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  const at::Tensor y = at::empty(sizes, x.options());
  cpu::RowProducts loop;
  loop.inputs = weight.size(1);
  loop.outputs = weight.size(0);
  loop.rows = y.numel() / loop.outputs;
  loop.x = from.data_ptr<float>();
  loop.weight = weights.data_ptr<float>();
  loop.bias = bias.defined() ? biases.data_ptr<float>() : nullptr;
  loop.y = y.data_ptr<float>();
  cpu::loops()->row_products(loop);
  return y;
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                  Precision precision) {
  TORCH_CHECK_VALUE(x.defined() && x.dim() >= 1 && x.is_floating_point(),
                    "linear: x must be a floating-point tensor [.., in]");
  check_like(weight, {-1, x.size(-1)}, x, "linear: weight");
  if (bias.defined()) check_like(bias, {weight.size(0)}, x, "linear: bias");
  const bool few = weight.numel() > 0 && x.numel() <= kFewRows * weight.size(1);
  if (few && !needs_gradient({x, weight, bias}) && loops_for({x, weight, bias}))
    return fused(x, weight, bias);
  const at::Tensor product = rounded_matmul(x, weight.t(), precision);
  return bias.defined() ? product + bias : product;
}

}  // namespace tessera::ops
