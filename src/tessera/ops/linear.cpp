#include "tessera/ops/linear.h"

#include <ATen/ATen.h>

#include "tessera/ops/check_sequence.h"
#include "tessera/ops/rounded_matmul.h"

namespace tessera::ops {

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                  Precision precision) {
  TORCH_CHECK_VALUE(x.defined() && x.dim() >= 1 && x.is_floating_point(),
                    "linear: x must be a floating-point tensor [.., in]");
  check_like(weight, {-1, x.size(-1)}, x, "linear: weight");
  if (bias.defined()) check_like(bias, {weight.size(0)}, x, "linear: bias");
  const at::Tensor product = rounded_matmul(x, weight.t(), precision);
  return bias.defined() ? product + bias : product;
}

}  // namespace tessera::ops
