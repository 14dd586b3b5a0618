#include "tessera/ops/linear.h"

#include <ATen/ATen.h>

#include <vector>

#include "tessera/ops/cpu/bfloat16/digit_products.h"
#include "tessera/ops/cpu/few_rows.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/weights.h"
#include "tessera/tensor/check.h"

namespace tessera::ops {
namespace {

/// Space for the products of x [.., in] with a weight [out, in].
at::Tensor empty_products(const at::Tensor& x, const at::Tensor& weight) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  return at::empty(sizes, x.options());
}

/// Contiguous operands.
at::Tensor products_of_few(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor y = empty_products(x, weight);
  const int64_t outputs = weight.size(0);
  cpu::row_products({.rows = y.numel() / outputs,
                     .inputs = x.size(-1),
                     .outputs = outputs,
                     .x = floats_of(x),
                     .weight = weight_rows(weight),
                     .bias = floats_of(bias),
                     .y = y.data_ptr<float>()});
  return y;
}

/// Contiguous operands, the weight of fewer bits.
at::Tensor products_of_many(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor y = empty_products(x, weight);
  const int64_t inputs = x.size(-1), outputs = weight.size(0);
  if (weight_type(weight) == WeightType::kBFloat16) {
    cpu::digit_products({.rows = x.numel() / inputs,
                         .inputs = inputs,
                         .outputs = outputs,
                         .x = floats_of(x),
                         .weight = weight_rows(weight).as<cpu::BFloat16>(),
                         .bias = floats_of(bias),
                         .y = y.data_ptr<float>()});
    return y;
  }
  cpu::Int8Vectors rounded = {.rows = x.numel() / inputs, .length = inputs};
  const at::Tensor memory = at::empty({rounded.size()}, x.options());
  rounded.lie_in(memory.data_ptr<float>());
  cpu::multiply_many({.x = floats_of(x),
                      .products = {.x = rounded,
                                   .weight = weight.data_ptr<int8_t>(),
                                   .bias = floats_of(bias),
                                   .outputs = outputs,
                                   .y = y.data_ptr<float>()}});
  return y;
}

at::Tensor fused(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor from = x.contiguous(), weights = weight.contiguous();
  const at::Tensor biases = bias.defined() ? bias.contiguous() : bias;
  const bool many = x.numel() > kFewRows * x.size(-1);
  return (many ? products_of_many : products_of_few)(from, weights, biases);
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
