#include "tessera/ops/linear.h"

#include <ATen/ATen.h>

#include <vector>

#include "tessera/ops/cpu/bfloat16/digit_products.h"
#include "tessera/ops/cpu/few_rows.h"
#include "tessera/ops/cpu/int8/int8_products.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

at::Tensor fused(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor from = x.contiguous(), weights = weight.contiguous();
  const at::Tensor biases = bias.defined() ? bias.contiguous() : bias;
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  const at::Tensor y = at::empty(sizes, x.options());
  cpu::Products products = {.rows = x.numel() / x.size(-1),
                            .inputs = x.size(-1),
                            .outputs = weight.size(0),
                            .x = floats_of(from),
                            .weight = weight_rows(weights),
                            .bias = floats_of(biases),
                            .y = y.data_ptr<float>()};
  if (products.rows <= kFewRows) {
    cpu::row_products(products);
  } else if (products.weight.type == WeightType::kBFloat16) {
    cpu::digit_products(products);
  } else {
    products.rounded = {.rows = products.rows, .length = products.inputs};
    const at::Tensor memory = at::empty({products.rounded.size()}, x.options());
    products.rounded.lie_in(memory.data_ptr<float>());
    cpu::multiply_many(products);
  }
  return y;
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                  Precision precision) {
  TESSERA_CHECK(x.defined() && x.dim() >= 1 && x.is_floating_point(),
                "linear: x must be a floating-point tensor [.., in]");
  check_weight(weight, {-1, x.size(-1)}, x, "linear: weight");
  if (bias.defined()) check_like(bias, {weight.size(0)}, x, "linear: bias");
  const bool few = x.numel() <= kFewRows * x.size(-1);
  const bool some = weight.numel() > 0 && x.numel() > 0;
  if (some && (few || loops_multiply_many(x, weight)) && !needs_gradient({x, weight, bias}) &&
      loops_run({x, bias}))
    return fused(x, weight, bias);
  const at::Tensor product = rounded_matmul(x, as_multiplied_by(x, weight).t(), precision);
  return bias.defined() ? product + bias : product;
}

}  // namespace tessera::ops
