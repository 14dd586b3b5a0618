#include "tessera/ops/layer_norm.h"

#include <ATen/ATen.h>

#include "tessera/ops/cpu/few_rows.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// A few rows without gradient, as in generation.
at::Tensor fused(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                 double epsilon) {
  const at::Tensor y = at::empty(x.sizes(), x.options());
  const int64_t channels = x.size(-1);
  cpu::layer_norm({.rows = x.numel() / channels,
                   .channels = channels,
                   .x = floats_of(x),
                   .weight = floats_of(weight),
                   .bias = floats_of(bias),
                   .epsilon = static_cast<float>(epsilon),
                   .y = y.data_ptr<float>()});
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
  if (!needs_gradient({x, weight, bias}) && loops_run_few_rows(rows, {x, weight, bias}))
    return fused(x, weight, bias, epsilon);
  return at::layer_norm(x, weight.sizes(), weight, bias, epsilon);
}

}  // namespace tessera::ops
