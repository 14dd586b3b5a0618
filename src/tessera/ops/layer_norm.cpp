#include "tessera/ops/layer_norm.h"

#include <ATen/ATen.h>

#include "tessera/ops/check_sequence.h"
#include "tessera/ops/cpu/layer_norm.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// A few rows without gradient, as in generation.
at::Tensor fused(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                 double epsilon) {
  const at::Tensor y = at::empty(x.sizes(), x.options());
  cpu::LayerNorm loop;
  loop.channels = x.size(-1);
  loop.rows = x.numel() / loop.channels;
  loop.x = x.data_ptr<float>();
  loop.weight = weight.data_ptr<float>();
  loop.bias = bias.defined() ? bias.data_ptr<float>() : nullptr;
  loop.epsilon = static_cast<float>(epsilon);
  loop.y = y.data_ptr<float>();
  cpu::loops()->layer_norm(loop);
  return y;
}

}  // namespace

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double epsilon) {
  TESSERA_CHECK(x.defined() && x.dim() >= 1 && x.is_floating_point(),
                "layer_norm: x must be a floating-point tensor [.., C]");
  check_like(weight, {x.size(-1)}, x, "layer_norm: weight");
  if (bias.defined()) check_like(bias, {x.size(-1)}, x, "layer_norm: bias");
  const int64_t rows = x.numel() > 0 ? x.numel() / x.size(-1) : 0;
  if (!needs_gradient({x, weight, bias}) && loops_for_few_rows(rows, {x, weight, bias}))
    return fused(x, weight, bias, epsilon);
  return at::layer_norm(x, weight.sizes(), weight, bias, epsilon);
}

}  // namespace tessera::ops
