#include "tessera/ops/unit_scale.h"

#include <ATen/ATen.h>

#include "tessera/ops/check_sequence.h"

namespace tessera::ops {
namespace {

at::Tensor composed(const at::Tensor& x, const at::Tensor& scale, double epsilon) {
  const at::Tensor length = x.norm(2, {-1}, /*keepdim=*/true);  // [.., H, 1]
  return x * (scale.view({-1, 1}) / (length + epsilon));
}

}  // namespace

at::Tensor scaled_unit_norm(const at::Tensor& x, const at::Tensor& scale, double epsilon) {
  TORCH_CHECK_VALUE(x.defined() && x.dim() >= 2 && x.is_floating_point(),
                    "scaled_unit_norm: x must be a floating-point tensor [.., H, D]");
  check_like(scale, {x.size(-2)}, x, "scaled_unit_norm: scale");
  TORCH_CHECK_VALUE(epsilon >= 0, "scaled_unit_norm: epsilon is ", epsilon, ", expected >= 0");
  return composed(x, scale, epsilon);
}

}  // namespace tessera::ops
