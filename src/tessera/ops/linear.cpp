#include "tessera/ops/linear.h"

#include <ATen/ATen.h>

#include <vector>

#include "tessera/ops/check_sequence.h"
#include "tessera/ops/cpu/row_products.h"
#include "tessera/ops/detail/dispatch.h"
#include "tessera/ops/detail/rounded_matmul.h"
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
  cpu::RowProducts loop;
  loop.inputs = x.size(-1);
  loop.outputs = weight.size(0);
  loop.rows = y.numel() / loop.outputs;
  loop.x = x.data_ptr<float>();
  loop.weight = weight_rows(weight);
  loop.bias = bias.defined() ? bias.data_ptr<float>() : nullptr;
  loop.y = y.data_ptr<float>();
  cpu::loops()->row_products(loop);
  return y;
}

/// Contiguous operands, the weight of 8 bits.
at::Tensor products_of_many(const cpu::Int8Loops& loops, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor y = empty_products(x, weight);
  cpu::Int8Products loop;
  loop.x.rows = x.numel() / x.size(-1);
  loop.x.length = x.size(-1);
  const at::Tensor memory = at::empty({loop.x.size()}, x.options());
  loop.x.lie_in(memory.data_ptr<float>());
  loops.round_vectors(x.data_ptr<float>(), loop.x);
  loop.weight = weight.data_ptr<int8_t>();
  loop.bias = bias.defined() ? bias.data_ptr<float>() : nullptr;
  loop.outputs = weight.size(0);
  loop.y = y.data_ptr<float>();
  loops.multiply_many(loop);
  return y;
}

at::Tensor fused(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor from = x.contiguous(), weights = weight.contiguous();
  const at::Tensor biases = bias.defined() ? bias.contiguous() : bias;
  const cpu::Int8Loops* int8 = loops_for_int8(x, weight);
  return int8 && x.numel() > kFewRows * x.size(-1) ? products_of_many(*int8, from, weights, biases)
                                                   : products_of_few(from, weights, biases);
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
  if (some && (few || loops_for_int8(x, weight)) && !needs_gradient({x, weight, bias}) &&
      weight.device().is_cpu() && loops_for({x, bias}))
    return fused(x, weight, bias);
  const at::Tensor product = rounded_matmul(x, as_floats(weight, x.size(-1)).t(), precision);
  return bias.defined() ? product + bias : product;
}

}  // namespace tessera::ops
